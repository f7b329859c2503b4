package redislock

// AccessRules are what a user of a [Driver] must be allowed, as the arguments of
// ACL SETUSER after its name and password: the keys and the channels of the
// namespace, and the commands of the scripts and of the one subscription. It is
// enough for all but [Check] and [Namespaces], which also ask CONFIG|GET and SCAN.
// A Cluster needs [ClusterAccessRules] too. Without +info all else works, and
// nobody is told that the server was restarted or replaced.
func AccessRules(namespace string) []string {
	return []string{
		"resetkeys", "~" + namespace + ":v1:*", "resetchannels", "&" + namespace + ":v1:i:*", "nocommands",
		"+ping", "+hello", "+auth", "+select", "+client|setname",
		"+eval", "+evalsha", "+time", "+info",
		"+get", "+mget", "+set", "+del", "+incrby", "+exists", "+pexpire", "+pttl",
		"+hmget", "+hset", "+hdel", "+hgetall", "+hscan",
		"+rpush", "+lpush", "+lpop", "+lindex", "+llen", "+lrange", "+lset", "+lpos", "+lrem",
		"+sadd", "+smembers", "+srem",
		"+zadd", "+zcard", "+zrange", "+zrem", "+zremrangebyscore",
		"+publish", "+subscribe", "+wait",
	}
}

// ClusterAccessRules are what a client for a Cluster asks beside AccessRules.
func ClusterAccessRules() []string {
	return []string{"+cluster|slots", "+cluster|shards", "+readonly", "+asking", "+command"}
}
