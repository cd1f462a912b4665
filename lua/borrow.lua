-- borrow.lua: puts packets that another shard has lent into a shard's stock.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state     hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock     list of the packets left: ranges "<first>-<last>" of packets, and a '.' at its end
--   3  rr:{<campaign>.<shard>}:borrowed  hash: id of a move to here -> its number among the moves of this shard
--   4  rr:{<campaign>.<shard>}:outbox    stream: entries to be paid
-- ARGV
--   1      id of the move
--   2      number of its packets
--   3      time of the seal, Unix ms
--   4      the seal of a reclaim of this shard
--   5 ...  the packets' ranges, "<first>-<last>"
-- RETURNS
--   the number of this move among those of the shard
--   error NOSTATE  Redis has no state of this shard, or it is being restored
-- ATOMICITY
--   The packets come in the step that records the move, so repeated calls add them once. A closed shard returns
--   them to the sponsor at once. The first write is one that a full Redis refuses.

local state, stock, borrowed, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local s = redis.call('HMGET', state, 'status', 'left', 'moves', 'base_wave', 'first_wave', 'base')
if not s[1] or s[1] == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local before = redis.call('HGET', borrowed, ARGV[1])
if before then
  return tonumber(before)
end

local number = s[3] + 1
redis.call('HSET', borrowed, ARGV[1], number)
redis.call('HSET', state, 'moves', number)
if s[1] == 'closed' then
  local id = redis.call('XADD', outbox, '*', 'at', ARGV[3], 'packets', table.concat(ARGV, ' ', 5), 'reclaim', ARGV[4])
  redis.call('HSET', state, 'last', id)
  redis.call('RPUSH', stock, unpack(ARGV, 5)) -- behind the '.', as close.lua does
  return number
end
redis.call('HSET', state, 'left', s[2] + ARGV[2])
if s[4] == s[5] then -- the pacing of this rain has begun
  redis.call('HSET', state, 'base', s[6] + ARGV[2])
end
redis.call('RPOP', stock)
redis.call('RPUSH', stock, unpack(ARGV, 5))
redis.call('RPUSH', stock, '.')
return number
