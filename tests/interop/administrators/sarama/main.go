// Sarama's ClusterAdmin, call by call: `driver HOST:PORT` prints a line of JSON for each: name, ok, what it said.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/IBM/sarama"
)

const longest = 160

func told(name string, said any, failed error) {
	text := fmt.Sprint(said)
	if failed != nil {
		text = failed.Error()
	}
	if len(text) > longest {
		text = text[:longest]
	}
	line, _ := json.Marshal(map[string]any{"call": name, "ok": failed == nil, "said": text})
	fmt.Println(string(line))
}

func disabled(failed error) error {
	if failed != nil && (errors.Is(failed, sarama.ErrSecurityDisabled) || strings.Contains(failed.Error(), sarama.ErrSecurityDisabled.Error())) {
		return nil
	}
	return fmt.Errorf("security is not said to be disabled: %v", failed)
}

func main() {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	admin, failed := sarama.NewClusterAdmin([]string{os.Args[1]}, config)
	if failed != nil {
		told("NewClusterAdmin", nil, failed)
		return
	}
	defer admin.Close()
	told("CreateTopic", "", admin.CreateTopic("stock", &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}, false))
	if producer, failed := sarama.NewSyncProducer([]string{os.Args[1]}, config); failed == nil {
		_, _, failed = producer.SendMessage(&sarama.ProducerMessage{Topic: "stock", Partition: 0, Value: sarama.StringEncoder("a")})
		told("produce before the rest", "", failed)
		producer.Close()
	}
	topics, failed := admin.ListTopics()
	told("ListTopics", len(topics), failed)
	described, failed := admin.DescribeTopics([]string{"stock"})
	told("DescribeTopics", len(described), failed)
	told("CreatePartitions", "", admin.CreatePartitions("stock", 3, nil, false))
	brokers, controller, failed := admin.DescribeCluster()
	told("DescribeCluster", fmt.Sprint(len(brokers), " brokers, controller ", controller), failed)
	entries, failed := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: "stock"})
	told("DescribeConfig", len(entries), failed)
	value := "1000000"
	told("AlterConfig", "", admin.AlterConfig(sarama.TopicResource, "stock", map[string]*string{"retention.ms": &value}, false))
	told("IncrementalAlterConfig", "", admin.IncrementalAlterConfig(sarama.TopicResource, "stock",
		map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}}, false))
	groups, failed := admin.ListConsumerGroups()
	told("ListConsumerGroups", groups, failed)
	groupRows, failed := admin.DescribeConsumerGroups([]string{"nobody"})
	told("DescribeConsumerGroups", len(groupRows), failed)
	offsets, failed := admin.ListConsumerGroupOffsets("nobody", map[string][]int32{"stock": {0}})
	told("ListConsumerGroupOffsets", offsets != nil, failed)
	directories, failed := admin.DescribeLogDirs([]int32{brokers[0].ID()})
	told("DescribeLogDirs", len(directories), failed)
	elected, failed := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{"stock": {0}})
	told("ElectLeaders", len(elected), failed)
	told("AlterPartitionReassignments", "", admin.AlterPartitionReassignments("stock", [][]int32{{brokers[0].ID()}, {brokers[0].ID()}, {brokers[0].ID()}}))
	moving, failed := admin.ListPartitionReassignments("stock", []int32{0})
	told("ListPartitionReassignments", len(moving), failed)
	users, failed := admin.DescribeUserScramCredentials([]string{"ann"})
	told("DescribeUserScramCredentials", len(users), failed)
	told("AlterClientQuotas", "", admin.AlterClientQuotas([]sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser,
		MatchType: sarama.QuotaMatchExact, Name: "ann"}}, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1024}, false))
	quotas, failed := admin.DescribeClientQuotas([]sarama.QuotaFilterComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchAny}}, false)
	told("DescribeClientQuotas", len(quotas), failed)
	_, failed = admin.ListAcls(sarama.AclFilter{ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
		Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny})
	told("ListAcls: security disabled", "", disabled(failed))
	told("DeleteRecords", "", admin.DeleteRecords("stock", map[int32]int64{0: 0}))
	told("DeleteTopic", "", admin.DeleteTopic("stock"))
}
