-- restore.lua: restores a shard that Redis has lost, step by step.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of the packets left: ranges "<first>-<last>" of packets, and a '.' at its end
--   3  rr:{<campaign>.<shard>}:wins    hash: the players' wins, see grab.lua
--   4  rr:{<campaign>.<shard>}:taps    hash: the players' taps, see grab.lua
--   5  rr:{<campaign>.<shard>}:outbox  stream: entries to be paid
--   6  rr:{<campaign>.<shard>}:lent    hash: stock in flight to other shards, see lend.lua
--   7  rr:{<campaign>.<shard>}:borrowed  hash: moves from other shards, see borrow.lua
-- ARGV
--   1  token of the restoration, different for each
--   2  'begin'                        'stock', 'back', 'moves', 'wins'   'finish'
--   3  the state's settings while     number of the chunk, from 1        'open', or 'closed' where nothing is left to win
--   4    there is no rain: field      stock: "<first>-<last>", of each   packets in the stock
--   5    and value, field and value     range                            wins that have come
--   6                                 back: the same of what was         id that every outbox entry of before is at or below
--   7                                   given back to the sponsor        number of moves of this shard
--   8                                 moves: id of each move to here     when it was cut off from the life before, Unix ms
--   9                                 wins, of each in the order won:    epoch that begins, see epoch.lua; '' for none
--  10                                   user, ticket, packet, entry
--   If two packets are promised to a player with one ticket, the player is notified of the first; both count as won
-- RETURNS
--   1  done, or it was done already
--   error ALIVE       the shard is there, and nothing has to be restored; another restoration may just have done it
--   error UNSETTLED   'begin': the outbox is there, with entries that the ledger may not have
--   error SUPERSEDED  another restoration has begun since
--   error NOSTATE     Redis has lost the restoration, too
--   error MISPLACED   the chunk does not follow the one before
--   error INCOMPLETE  'finish': the packets differ from the announcement
-- ATOMICITY
--   Until 'finish' the state has no revision and the status rebuilding, with which every script treats the shard as
--   missing. So an interrupted restoration has done no harm: the next one begins anew.
--   The last one to begin takes over: later steps of another one are refused. A step that is sent again changes nothing.
--   The first write of each step is one that a full Redis refuses. The caller sends at most 500 wins or ranges in a chunk.

local state, stock, wins, taps, outbox, lent, borrowed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local token, step = ARGV[1], ARGV[2]

local s = redis.call('HMGET', state, 'status', 'rev', 'restorer', 'chunk', 'left', 'won', 'taps_per_user')
if s[2] then
  if s[3] == token then
    return 1
  end
  return redis.error_reply('ALIVE the shard is there')
end

if step == 'begin' then
  if s[3] == token then
    return 1
  end
  local waiting = redis.call('XLEN', outbox)
  if waiting > 0 then
    return redis.error_reply('UNSETTLED the outbox holds ' .. waiting .. ' entries')
  end
  redis.call('HSET', state, 'status', 'rebuilding', 'restorer', token, 'chunk', '0', 'left', '0', 'won', '0', 'base_wave', '',
    'base', '0', unpack(ARGV, 3))
  redis.call('UNLINK', stock, wins, taps, outbox, lent, borrowed)
  redis.call('RPUSH', stock, '.')
  return 1
end

if not s[1] then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
if s[1] ~= 'rebuilding' or s[3] ~= token then
  return redis.error_reply('SUPERSEDED another restoration has begun')
end

if step == 'finish' then
  if s[5] ~= ARGV[4] or s[6] ~= ARGV[5] then
    return redis.error_reply('INCOMPLETE ' .. s[5] .. ' packets and ' .. s[6] .. ' wins have come')
  end
  -- The shard is there from the last write on; until then this step can be done again.
  redis.call('HSET', wins, '', '')
  redis.call('HSET', taps, '', '')
  redis.call('HSET', lent, '', '')
  redis.call('HSET', borrowed, '', '')
  if redis.call('EXISTS', outbox) == 0 then
    redis.call('XADD', outbox, ARGV[6], 'barrier', '')
    redis.call('XDEL', outbox, ARGV[6])
  end
  local rev = ARGV[3] == 'closed' and '9007199254740991' or '0'
  redis.call('HSET', state, 'status', ARGV[3], 'rev', rev, 'last', ARGV[6], 'moves', ARGV[7], 'epoch', ARGV[8],
    'claim', ARGV[9])
  return 1
end

local chunk, before = tonumber(ARGV[3]), tonumber(s[4])
if chunk <= before then
  return 1
end
if chunk ~= before + 1 then
  return redis.error_reply('MISPLACED chunk ' .. ARGV[3] .. ' follows ' .. s[4])
end

if step == 'stock' then
  local left = tonumber(s[5])
  for i = 4, #ARGV do
    local first, last = string.match(ARGV[i], '^(%d+)-(%d+)$')
    left = left + last - first + 1
  end
  redis.call('HSET', state, 'chunk', ARGV[3], 'left', left)
  redis.call('RPOP', stock)
  redis.call('RPUSH', stock, unpack(ARGV, 4))
  redis.call('RPUSH', stock, '.')
  return 1
end

if step == 'back' then
  redis.call('HSET', state, 'chunk', ARGV[3])
  redis.call('RPUSH', stock, unpack(ARGV, 4)) -- behind the '.', as close.lua does
  return 1
end

if step == 'moves' then
  local fields = {}
  for i = 4, #ARGV do
    fields[#fields + 1], fields[#fields + 2] = ARGV[i], '0'
  end
  redis.call('HSET', state, 'chunk', ARGV[3])
  redis.call('HSET', borrowed, unpack(fields))
  return 1
end

local counted = tonumber(s[7]) > 0
local fields = {}
for i = 4, #ARGV, 4 do
  fields[#fields + 1] = ARGV[i] .. '\n' .. ARGV[i + 1]
end
local there = redis.call('HMGET', wins, unpack(fields))
for i, field in ipairs(fields) do
  there[field] = there[i]
end
local count, newest, users = {}, {}, {}
local new_wins, new_taps = {}, {}
for i = 4, #ARGV, 4 do
  local user, ticket, field = ARGV[i], ARGV[i + 1], fields[i / 4]
  if not count[user] then
    local record = redis.call('HGET', wins, user)
    count[user], newest[user] = string.match(record or '0 ', '^(%d+) (.*)$')
    users[#users + 1] = user
  end
  if not there[field] then -- else its record would lead back to itself
    there[field] = true
    new_wins[#new_wins + 1], new_wins[#new_wins + 2] = field, ARGV[i + 2] .. ' ' .. ARGV[i + 3] .. ' ' .. newest[user]
    new_taps[#new_taps + 1], new_taps[#new_taps + 2] = field, ''
    count[user], newest[user] = count[user] + 1, ticket
  end
end
for _, user in ipairs(users) do
  new_wins[#new_wins + 1], new_wins[#new_wins + 2] = user, count[user] .. ' ' .. newest[user]
  new_taps[#new_taps + 1], new_taps[#new_taps + 2] = user, count[user]
end
redis.call('HSET', state, 'chunk', ARGV[3], 'won', s[6] + (#ARGV - 3) / 4)
redis.call('HSET', wins, unpack(new_wins))
if counted then
  redis.call('HSET', taps, unpack(new_taps))
end
return 1
