-- close.lua: shuts a shard for good. What is left of its stock goes to the outbox as a reclaim.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: what is left
--   3  rr:{<campaign>.<shard>}:taps    hash: the players' taps, which nobody asks for any more
--   4  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   none
-- RETURNS
--   the number of packets reclaimed; 0 when the shard was closed before or sold out
--   error NOSTATE  Redis knows nothing of this shard, or not enough yet: it is being restored
-- ATOMICITY
--   The reclaim is written in the step that removes the stock, so there is one reclaim however often and from wherever this is
--   called. The first write of it is one that a full Redis refuses. The wins stay: a win can be asked for again for ever.
--   A closed shard is final: its revision is the largest there is, and no update is newer.
--   A shard that has never been opened (it has no revision) is emptied without a reclaim. None of it was ever on offer, and its
--   money is given back by whoever gives up the loading, as a whole.

local state, stock, taps, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local s = redis.call('HMGET', state, 'status', 'rev', 'left')
if not s[1] or s[1] == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
if s[1] == 'closed' then
  return 0
end

if not s[2] then
  -- Never on offer: freeing it first lets it go also where Redis is full, and doing it again does no harm.
  redis.call('UNLINK', stock, taps)
  redis.call('HSET', state, 'status', 'closed', 'rev', '9007199254740991', 'left', '0', 'won', '0', 'amount_won', '0',
    'last', '', 'rain', '', 'opens', '0', 'closes', '0')
  return 0
end
local count = redis.call('LLEN', stock)
if count > 0 then
  local id = redis.call('XADD', outbox, '*', 'reclaim', count .. ' ' .. s[3])
  redis.call('HSET', state, 'last', id)
end
redis.call('HSET', state, 'status', 'closed', 'rev', '9007199254740991', 'left', '0', 'rain', '', 'opens', '0',
  'closes', '0')
redis.call('UNLINK', stock, taps)
return count
