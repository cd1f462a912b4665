-- lose.lua: closes a shard for taps if Redis has lost a part of it, until it is restored.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state  hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:lent   hash: the moves from here that are in flight, see lend.lua
-- ARGV
--   1  id of an outbox entry of this shard that was written
--   2  number of a move of this shard that was made
--   3  id of a move from here that is in flight; '' for none
--   4  the epoch in which that was lent (see restore.lua): a shard that was restored since need not have it
-- RETURNS
--   1  Redis does not have all of them: the shard takes no taps any more
--   0  Redis has them, or has no state of the shard
-- ATOMICITY
--   Comparing and setting are one step. Run again it changes nothing.

local s = redis.call('HMGET', KEYS[1], 'rev', 'last', 'moves', 'epoch')
if not s[1] then
  return 0
end
local known_ms, known_seq = string.match(ARGV[1], '^(%d+)-(%d+)$')
local ms, seq = string.match(s[2], '^(%d+)-(%d+)$')
known_ms, ms = tonumber(known_ms), tonumber(ms)
local behind = ms < known_ms or ms == known_ms and tonumber(seq) < tonumber(known_seq) or tonumber(s[3]) < tonumber(ARGV[2])
local forgotten = ARGV[3] ~= '' and s[4] == ARGV[4] and redis.call('HEXISTS', KEYS[2], ARGV[3]) == 0
if not behind and not forgotten then
  return 0
end
redis.call('HSET', KEYS[1], 'status', 'rebuilding')
redis.call('HDEL', KEYS[1], 'rev', 'restorer')
return 1
