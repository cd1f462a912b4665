-- open.lua: loads a shard's stock in chunks, and opens the shard when it is complete.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: the amounts
--   3  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   1  'load'                                   'finish'
--   2  number of the shard's first packet       the campaign's revision
--   3  packets of the shard                     amount of all its packets, minor units
--   4  packets before this chunk                wins allowed to a player
--   5  amount of a packet, minor units          taps allowed to a player, 0 without limit
--   6  amount of the next ...                   name of the outbox's consumer group
-- RETURNS
--    1  done, or it was done already and the shard is still loading
--    0  the shard has been opened before: there is nothing to load any more
--   -1  the shard is closed
--   error NOSTATE     the shard is being restored, and is not loaded meanwhile
--   error MISPLACED   the chunk does not follow what is loaded
--   error MISMATCH    the shard is being loaded with other packets
--   error INCOMPLETE  at 'finish': packets are missing, or their sum is not the one expected
-- ATOMICITY
--   A chunk that is there already is not loaded again and nothing is loaded into a shard that has been opened, so any call may
--   be repeated, in any order and from several nodes. Until 'finish' the state has no revision, and no update takes hold of it.

local state, stock, outbox = KEYS[1], KEYS[2], KEYS[3]
local s = redis.call('HMGET', state, 'status', 'first', 'total', 'left')
local status = s[1]
if status == 'closed' then
  return -1
end
if status == 'rebuilding' then
  return redis.error_reply('NOSTATE the shard is being restored')
end
if status and status ~= 'loading' then
  return 0
end

if ARGV[1] == 'load' then
  local first, total, before = ARGV[2], ARGV[3], tonumber(ARGV[4])
  if status and (s[2] ~= first or s[3] ~= total) then
    return redis.error_reply('MISMATCH the shard holds packets from ' .. s[2] .. ', ' .. s[3] .. ' of them')
  end
  local count = redis.call('LLEN', stock)
  local chunk, sum = {}, 0
  for i = 5, #ARGV do
    chunk[i - 4] = ARGV[i]
    sum = sum + tonumber(ARGV[i])
  end
  if count >= before + #chunk then
    return 1
  end
  if count ~= before then
    return redis.error_reply('MISPLACED the stock holds ' .. count .. ' packets, the chunk follows ' .. before)
  end
  redis.call('HSET', state, 'status', 'loading', 'first', first, 'total', total,
    'left', string.format('%.0f', (tonumber(s[4]) or 0) + sum))
  redis.call('RPUSH', stock, unpack(chunk))
  return 1
end

local count = redis.call('LLEN', stock)
if not status or count ~= tonumber(s[3]) or s[4] ~= ARGV[3] then
  return redis.error_reply('INCOMPLETE the stock holds ' .. count .. ' packets, ' .. tostring(s[4]) .. ' in all')
end
if redis.call('EXISTS', outbox) == 0 then
  redis.call('XGROUP', 'CREATE', outbox, ARGV[6], '0', 'MKSTREAM')
end
redis.call('HSET', state, 'status', 'open', 'rev', ARGV[2], 'won', '0', 'amount_won', '0', 'last', '',
  'wins_per_user', ARGV[4], 'taps_per_user', ARGV[5], 'rain', '', 'opens', '0', 'closes', '0', 'paced', '0',
  'duration_ms', '0', 'base_rain', '', 'base', '0')
return 1
