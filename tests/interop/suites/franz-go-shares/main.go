// What it takes to build franz-go's own tests (go test -c): a module that needs it.
package main

import _ "github.com/twmb/franz-go/pkg/kgo"

func main() {}
