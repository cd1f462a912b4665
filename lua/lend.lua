-- lend.lua: takes packets out of a shard's stock, to be moved to another shard.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state  hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock  list of the packets left: ranges "<first>-<last>" of packets, and a '.' at its end
--   3  rr:{<campaign>.<shard>}:lent   hash: id of a move from here -> "<to> <number> <epoch> <ranges>" until it is done
-- ARGV
--   1  id of the move, made for it alone
--   2  number of the shard that receives the packets
--   3  most packets to take
--   4  most ranges to read
-- RETURNS
--   "<to> <number> <epoch> <ranges>": the receiving shard, the number of this move among those of the shard, the shard's
--   epoch (see restore.lua), and the packets; '' if there is nothing to lend
--   error NOSTATE  Redis has no state of this shard, or it is being restored
-- ATOMICITY
--   The packets leave the stock in the step that records the move, so they are in one place. Run again with the same id it
--   gives the same answer, until the move is done. The first write is one that a full Redis refuses.

local state, stock, lent = KEYS[1], KEYS[2], KEYS[3]
local s = redis.call('HMGET', state, 'status', 'left', 'moves', 'epoch', 'paced', 'base_wave', 'first_wave', 'base')
if not s[1] or s[1] == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local before = redis.call('HGET', lent, ARGV[1])
if before then
  return before
end
if s[1] == 'closed' then
  return ''
end

local want, count, ranges, used, rest = tonumber(ARGV[3]), 0, {}, 0, nil
local tail = redis.call('LRANGE', stock, -1 - ARGV[4], -2) -- the last is the '.'
for i = #tail, 1, -1 do
  local first, last = string.match(tail[i], '^(%d+)-(%d+)$')
  if not first or count >= want then break end
  first, last = tonumber(first), tonumber(last)
  local from = math.max(first, last - (want - count) + 1)
  ranges[#ranges + 1], count, used = from .. '-' .. last, count + last - from + 1, used + 1
  if from > first then
    rest = first .. '-' .. from - 1
  end
end
if count == 0 then
  return ''
end

local number = s[3] + 1
local move = ARGV[2] .. ' ' .. number .. ' ' .. s[4] .. ' ' .. table.concat(ranges, ' ')
redis.call('HSET', lent, ARGV[1], move)
redis.call('HSET', state, 'moves', number, 'left', s[2] - count)
if s[6] == s[7] then -- the pacing of this rain has begun: this shard cannot release lent stock
  redis.call('HSET', state, 'base', s[8] - count)
end
redis.call('LTRIM', stock, 0, -2 - used)
if rest then
  redis.call('RPUSH', stock, rest)
end
redis.call('RPUSH', stock, '.')
return move
