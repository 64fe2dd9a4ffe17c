module groupmock/interop/franz-go

go 1.24
