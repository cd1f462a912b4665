-- close.lua: shuts a shard for good. What is left of its stock goes to the outbox as reclaims.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of what is left: ranges "<first>-<last>", a '.', and behind it what was given back
--   3  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   1  how many ranges to reclaim at most
--   2  when this was sealed, Unix ms
--   3  the seal of a reclaim of this shard
-- RETURNS
--   the number of packets still to be reclaimed: where it is not 0, call again
--   error NOSTATE  Redis knows nothing of this shard, or not enough yet: it is being restored
-- ATOMICITY
--   A reclaim is written in the step that removes its ranges from the stock, so a packet is reclaimed once however often and from
--   wherever this is called. The first write is one that a full Redis refuses. The wins stay: a win can be asked for again for ever.
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
