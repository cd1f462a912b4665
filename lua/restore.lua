-- restore.lua: tells Redis again what it has forgotten of a shard, step by step.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: what is left, as "<packet>:<amount>"
--   3  rr:{<campaign>.<shard>}:wins    hash: user -> ";<drop>=<packet>=<amount>=<outbox entry>" for each win; no blocks, see grab.lua
--   4  rr:{<campaign>.<shard>}:taps    hash: user -> "<taps counted>;<drop>;<drop>;", the drops being the last counted
--   5  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   1  token of the restoration, different for each
--   2  'begin'                              'stock', 'wins'               'finish'
--   3  number of the shard's first packet   number of the chunk, from 1   'open', or 'closed' where nothing is left to win
--   4  packets of the shard                 stock: "<packet>:<amount>"    packets in the stock
--   5  wins allowed to a player             stock: of the next ...        their amount, minor units
--   6  taps allowed to a player, 0          wins: 4, 5, 6, 7, ...         wins that have come
--   7    without limit                        user and what is added to   id that every outbox entry of before is at or below
--   8                                         the record, of each win     name of the outbox's consumer group
-- RETURNS
--   1  done, or it was done already
--   error ALIVE       the shard is there, and nothing has to be restored; another restoration may just have done it
--   error UNSETTLED   'begin': the outbox is there, with entries that the ledger may not have
--   error SUPERSEDED  another restoration has begun since
--   error NOSTATE     Redis has forgotten the restoration, too
--   error MISPLACED   the chunk does not follow the one before
--   error INCOMPLETE  'finish': what has come is not what was announced
-- ATOMICITY
--   Until 'finish' the state has no revision and the status rebuilding, with which every script takes the shard for one that
--   Redis knows nothing of. So a restoration that is cut off has done no harm: the next one begins anew.
--   Whoever begins takes over: what another one sends from then on is refused. A step that is sent again changes nothing.
--   The first write of each step is one that a full Redis refuses.

local state, stock, wins, taps, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local token, step = ARGV[1], ARGV[2]

local TAPS_BYTES = 256   -- how much of the drops that a player tapped is kept, as in grab.lua

local function integer(n) return string.format('%.0f', n) end -- tostring would write 1e+15

local s = redis.call('HMGET', state, 'status', 'rev', 'restorer', 'chunk', 'left', 'won', 'amount_won', 'total', 'taps_per_user')
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
  redis.call('HSET', state, 'status', 'rebuilding', 'restorer', token, 'chunk', '0', 'first', ARGV[3], 'total', ARGV[4],
    'wins_per_user', ARGV[5], 'taps_per_user', ARGV[6], 'left', '0', 'won', '0', 'amount_won', '0')
  redis.call('UNLINK', stock, wins, taps, outbox)
  return 1
end

if not s[1] then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
if s[1] ~= 'rebuilding' or s[3] ~= token then
  return redis.error_reply('SUPERSEDED another restoration has begun')
end
local left, won, amount_won = tonumber(s[5]), tonumber(s[6]), tonumber(s[7])

if step == 'finish' then
  local closed, count = ARGV[3] == 'closed', redis.call('LLEN', stock)
  if integer(count) ~= ARGV[4] or s[5] ~= ARGV[5] or s[6] ~= ARGV[6] or count ~= (closed and 0 or tonumber(s[8]) - won) then
    return redis.error_reply('INCOMPLETE the stock holds ' .. count .. ' packets, ' .. s[5] .. ' in all; ' .. s[6] .. ' are won')
  end
  -- The shard is there from the last write on; until then this step can be done again.
  if redis.call('EXISTS', outbox) == 0 then
    redis.call('XADD', outbox, ARGV[7], 'barrier', '')
    redis.call('XDEL', outbox, ARGV[7])
    redis.call('XGROUP', 'CREATE', outbox, ARGV[8], '0')
  end
  local rev = closed and '9007199254740991' or '0'
  redis.call('HSET', state, 'status', ARGV[3], 'rev', rev, 'last', ARGV[7], 'rain', '', 'opens', '0', 'closes', '0', 'paced', '0',
    'duration_ms', '0', 'base_rain', '', 'base', '0')
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
  for i = 4, #ARGV do
    left = left + tonumber(string.match(ARGV[i], ':(%d+)$'))
  end
  redis.call('HSET', state, 'chunk', ARGV[3], 'left', integer(left))
  redis.call('RPUSH', stock, unpack(ARGV, 4))
  return 1
end

local counted = tonumber(s[9]) > 0
local users, player_of = {}, {} -- each player of the chunk once: in order, and by id
for i = 4, #ARGV, 2 do
  if not player_of[ARGV[i]] then
    player_of[ARGV[i]] = {}
    users[#users + 1] = ARGV[i]
  end
end
local records, tapped = redis.call('HMGET', wins, unpack(users)), {}
if counted then
  tapped = redis.call('HMGET', taps, unpack(users))
end
for i, user in ipairs(users) do
  local t = tapped[i] or '0;'
  player_of[user] = { record = records[i] or '', taps = tonumber(string.match(t, '^%d+')), drops = string.match(t, ';.*$') }
end
for i = 4, #ARGV, 2 do
  local p = player_of[ARGV[i]]
  local drop, amount = string.match(ARGV[i + 1], '^;([^=]*)=%d+=(%d+)=')
  p.record, p.taps = p.record .. ARGV[i + 1], p.taps + 1
  p.drops = p.drops .. drop .. ';'
  if #p.drops > TAPS_BYTES then
    p.drops = string.match(string.sub(p.drops, -TAPS_BYTES), ';.*$') -- the oldest go, and none stays in half
  end
  won, amount_won = won + 1, amount_won + tonumber(amount)
end
local new_wins, new_taps = {}, {}
for i, user in ipairs(users) do
  local p = player_of[user]
  new_wins[2 * i - 1], new_wins[2 * i] = user, p.record
  new_taps[2 * i - 1], new_taps[2 * i] = user, integer(p.taps) .. p.drops
end
redis.call('HSET', state, 'chunk', ARGV[3], 'won', integer(won), 'amount_won', integer(amount_won))
redis.call('HSET', wins, unpack(new_wins))
if counted then
  redis.call('HSET', taps, unpack(new_taps))
end
return 1
