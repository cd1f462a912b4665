-- close.lua: closes a shard for good. The rest of its stock goes to the outbox as reclaims.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of the packets left: ranges "<first>-<last>", a '.', and behind it the returned packets
--   3  rr:{<campaign>.<shard>}:outbox  stream: entries to be paid
-- ARGV
--   1  most ranges to reclaim
--   2  time of the seal, Unix ms
--   3  the seal of a reclaim of this shard
-- RETURNS
--   the number of packets still to be reclaimed: if it is not 0, call again
--   error NOSTATE  Redis has no state of this shard, or it is being restored
-- ATOMICITY
--   A reclaim is written in the step that removes its ranges from the stock, so repeated calls from any
--   node reclaim a packet once. The first write is one that a full Redis refuses. The wins stay readable.
--   A closed shard is final: its revision is the largest there is, and no update is newer.

local state, stock, outbox = KEYS[1], KEYS[2], KEYS[3]
local s = redis.call('HMGET', state, 'status', 'left')
if not s[1] or s[1] == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local left = tonumber(s[2])
if s[1] == 'closed' and left == 0 then
  return 0
end

local ranges, count = {}, 0
for _, range in ipairs(redis.call('LRANGE', stock, 0, ARGV[1] - 1)) do
  local first, last = string.match(range, '^(%d+)-(%d+)$')
  if not first then break end
  ranges[#ranges + 1], count = range, count + last - first + 1
end
if count > 0 then
  local id = redis.call('XADD', outbox, '*', 'at', ARGV[2], 'packets', table.concat(ranges, ' '), 'reclaim', ARGV[3])
  redis.call('HSET', state, 'last', id)
  redis.call('LTRIM', stock, #ranges, -1)
  redis.call('RPUSH', stock, unpack(ranges))
  left = left - count
else
  left = 0
end
redis.call('HSET', state, 'status', 'closed', 'rev', '9007199254740991', 'left', left, 'first_wave', '', 'opens', '0', 'closes', '0')
return left
