-- snapshot.lua: reads all that a shard knows of its money, at one moment.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: what is left
--   3  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   none
-- RETURNS
--   an array: the state as field, value, field, value, ... (empty where there is none); the number of packets in the stock;
--   the entries of the outbox, oldest first, each as XRANGE gives it
-- ATOMICITY
--   It is one step and writes nothing. A MULTI would do the same, but a full Redis refuses a MULTI, and that is when
--   somebody wants to know.

return { redis.call('HGETALL', KEYS[1]), redis.call('LLEN', KEYS[2]), redis.call('XRANGE', KEYS[3], '-', '+') }
