-- snapshot.lua: reads a shard's stock and its stock in flight to other shards, at one moment.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of the packets left: ranges "<first>-<last>" of packets, and a '.' at its end
--   3  rr:{<campaign>.<shard>}:lent    hash: stock in flight to other shards, see lend.lua
--   4  rr:{<campaign>.<shard>}:outbox  stream: entries to be paid
-- ARGV
--   1  most ranges to read
-- RETURNS
--   an array: the state as field, value, field, value, ... (empty if there is none); the ranges; the lent
--   stock, as field, value, field, value, ...; the id of the newest entry that the outbox ever had, '' if there is no
--   outbox, '?' if this Redis (the in-process one) does not have it
-- ATOMICITY
--   It is one step and writes nothing. A MULTI would do the same, but a full Redis refuses a MULTI, and operators need a
--   snapshot most of all then.

local newest = ''
if redis.call('EXISTS', KEYS[4]) == 1 then
  newest = '?'
  local info = redis.call('XINFO', 'STREAM', KEYS[4])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then newest = info[i + 1] end
  end
end
return { redis.call('HGETALL', KEYS[1]), redis.call('LRANGE', KEYS[2], 0, ARGV[1] - 1), redis.call('HGETALL', KEYS[3]), newest }
