-- epoch.lua: puts a shard into another epoch, or closes it for taps until it is rebuilt.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state  hash: the shard's settings and counts, see grab/store/keys.go
-- ARGV
--   1  the epoch that the caller has read, '' for none; grab/confirm has its form
--   2  the epoch in its place; '' closes the shard
-- RETURNS
--   1  done, or it was done already
--   0  the shard is in another epoch
--   error NOSTATE  Redis has no state of this shard, or it is being restored
-- ATOMICITY
--   Comparing and setting are one step. Run again it changes nothing.
--   A full Redis is changed as well: it never refuses HDEL, and nothing that a script writes after its first write.

local state = KEYS[1]
local s = redis.call('HMGET', state, 'rev', 'claim')
if not s[1] then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local now = s[2] or ''
if now == ARGV[2] and now ~= '' then
  return 1
end
if now ~= ARGV[1] then
  return 0
end
redis.call('HDEL', state, 'claim')
if ARGV[2] ~= '' then
  redis.call('HSET', state, 'claim', ARGV[2])
  return 1
end
redis.call('HSET', state, 'status', 'rebuilding')
redis.call('HDEL', state, 'rev', 'restorer')
return 1
