-- grab.lua: decides a batch of taps on one shard: who gets which packet.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: what is left; an element is "<amount>", or "<packet>:<amount>"
--   3  rr:{<campaign>.<shard>}:wins    hash: user -> ";<drop>=<packet>=<amount>=<outbox entry>" for each win, in the order won
--   4  rr:{<campaign>.<shard>}:taps    hash: user -> "<taps counted>;<drop>;<drop>;", the drops being the last counted
--   5  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- ARGV
--   1, 2, 3, 4, ...  user and drop of each tap, in the order they came; 1 to 500 taps. A drop is "n.k", a user has no
--                    control characters; the caller has seen to both
-- RETURNS
--   an array: the number of packets left in the stock; the id of the outbox entry with all that is won now, '' where nothing
--   is; then for each tap one code, and what follows it:
--    0  won now: the packet's number, its amount in minor units
--    2  won before, and asked for again: the packet's number, its amount in minor units, the id of its outbox entry
--    1  the player has all the wins allowed
--   -1  none is left
--   -2  not open: no rain, before or after it, paused, closed
--   -3  the player's taps are used up
--   -4  nothing in this one: the pacing has released no more by now
--   error NOSTATE  Redis knows nothing of this shard, or not enough yet: it is being restored
-- ATOMICITY
--   Everything is read and computed before anything is written, so an error strikes while nothing has changed. The first
--   write is one that a full Redis refuses (XADD, or HSET where nobody wins), and Redis lets a script finish that it has let
--   write: so either all of the batch is recorded, its wins in the outbox included, or none of it.
--   Run again (a lost answer, a player tapping twice), it gives a win again instead of another one, whatever the time
--   and the state; and does not count a tap twice that is among the player's last ones.

local state, stock, wins, taps, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local EARLY_MS = 250     -- how much before its start a rain is taken as begun: the nodes' clocks differ that much at most
local TAPS_BYTES = 256   -- how much of the drops that a player tapped is kept

local function integer(n) return string.format('%.0f', n) end -- tostring would write 1e+15

-- Read -----------------------------------------------------------------------------------------------------------------

local s = redis.call('HMGET', state, 'status', 'first', 'total', 'left', 'won', 'amount_won', 'wins_per_user',
  'taps_per_user', 'rain', 'opens', 'closes', 'paced', 'duration_ms', 'base_rain', 'base')
local status = s[1]
if not status or status == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local left, won, amount_won = tonumber(s[4]), tonumber(s[5]), tonumber(s[6])
local wins_per_user, taps_per_user = tonumber(s[7]), tonumber(s[8])
local rain, opens, closes = s[9], tonumber(s[10]), tonumber(s[11])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local open = status == 'open' and now >= opens - EARLY_MS and now < closes
local count = redis.call('LLEN', stock)

local users = {}
for i = 1, #ARGV, 2 do
  users[#users + 1] = ARGV[i]
end
local won_before = redis.call('HMGET', wins, unpack(users))
local tapped_before = {}
if open and taps_per_user > 0 then
  tapped_before = redis.call('HMGET', taps, unpack(users))
end

-- Decide ---------------------------------------------------------------------------------------------------------------

-- How many packets may go now. The pacing counts from what was there when the rain's first batch came.
local base, base_is_new = tonumber(s[15]), false
local released = count
if open and s[12] == '1' then
  if s[14] ~= rain then
    base, base_is_new = count, true
  end
  local duration = tonumber(s[13])
  local elapsed = math.max(0, math.min(now - opens, duration))
  released = math.max(0, math.floor(base * elapsed / duration) - (base - count))
end

-- A player may stand in a batch many times: what the batch has decided for them so far is kept here.
local players = {}
local function player_of(i)
  local p = players[users[i]]
  if not p then
    local record = won_before[i] or ''
    local _, n = string.gsub(record, ';', '')
    local tapped = tapped_before[i] or '0;'
    p = { record = record, wins = n, fresh = {}, parts = {}, tapped = tapped, taps = tonumber(string.match(tapped, '^%d+')) }
    players[users[i]] = p
  end
  return p
end

-- May the player tap this drop? Counts the tap if so, unless it has been counted.
local function within_allowance(p, drop)
  if taps_per_user == 0 or string.find(p.tapped, ';' .. drop .. ';', 1, true) then
    return true
  end
  if p.taps >= taps_per_user then
    return false
  end
  p.taps = p.taps + 1
  local drops = string.match(p.tapped, ';.*$') .. drop .. ';'
  if #drops > TAPS_BYTES then
    drops = string.match(string.sub(drops, -TAPS_BYTES), ';.*$') -- the oldest go, and none stays in half
  end
  p.tapped, p.tapped_is_new = integer(p.taps) .. drops, true
  return true
end

local codes = {}   -- of each tap: a number, or the win
local winners = {} -- the taps that win, in order
local function decide(i, drop)
  local p = player_of(i)
  local _, stop = string.find(p.record, ';' .. drop .. '=', 1, true)
  if stop then
    local packet, amount, entry = string.match(p.record, '^(%d+)=(%d+)=([%d-]+)', stop + 1)
    return { packet = packet, amount = amount, entry = entry }
  end
  if p.fresh[drop] then
    return p.fresh[drop]
  end
  if not open then
    return -2
  end
  if p.wins >= wins_per_user then
    return 1
  end
  if not within_allowance(p, drop) then
    return -3
  end
  if #winners >= count then
    return -1
  end
  if #winners >= released then
    return -4
  end
  local win = { player = p, user = users[i], drop = drop }
  winners[#winners + 1] = win
  p.wins, p.fresh[drop] = p.wins + 1, win
  return win
end
for i = 1, #users do
  codes[i] = decide(i, ARGV[2 * i])
end

-- Which packets they are: the stock is only looked at here, and cut below.
local lines, sum = {}, 0
if #winners > 0 then
  local head = redis.call('LRANGE', stock, 0, #winners - 1)
  local number = tonumber(s[2]) + tonumber(s[3]) - count -- of the head, in a stock without numbers
  for w, win in ipairs(winners) do
    win.packet, win.amount = string.match(head[w], '^(%d+):(%d+)$')
    if not win.packet then
      win.packet, win.amount = integer(number + w - 1), string.match(head[w], '^%d+$')
    end
    sum = sum + tonumber(win.amount)
    lines[w] = win.packet .. ' ' .. win.amount .. ' ' .. win.drop .. ' ' .. win.user
    local parts = win.player.parts -- the entry's id, which follows each, is not known yet
    parts[#parts + 1] = ';' .. win.drop .. '=' .. win.packet .. '=' .. win.amount .. '='
  end
end

local answer = { count - #winners, '' }
for i = 1, #users do
  local code = codes[i]
  if type(code) == 'number' then
    answer[#answer + 1] = code
  else
    answer[#answer + 1] = code.entry and 2 or 0
    answer[#answer + 1] = tonumber(code.packet)
    answer[#answer + 1] = tonumber(code.amount)
    answer[#answer + 1] = code.entry -- nothing where it is won now
  end
end

local new_winners, new_taps = {}, {}
for user, p in pairs(players) do
  if next(p.fresh) then
    new_winners[#new_winners + 1] = user
  end
  if p.tapped_is_new then
    new_taps[#new_taps + 1] = user
    new_taps[#new_taps + 1] = p.tapped
  end
end

-- Write ----------------------------------------------------------------------------------------------------------------

if #winners > 0 then
  local id = redis.call('XADD', outbox, '*', 'wins', table.concat(lines, '\n'))
  local new_wins = {}
  for i, user in ipairs(new_winners) do
    local p = players[user]
    new_wins[2 * i - 1] = user
    new_wins[2 * i] = p.record .. table.concat(p.parts, id) .. id
  end
  redis.call('HSET', wins, unpack(new_wins))
  redis.call('HSET', state, 'left', integer(left - sum), 'won', integer(won + #winners),
    'amount_won', integer(amount_won + sum), 'last', id)
  answer[2] = id
end
if base_is_new then
  redis.call('HSET', state, 'base_rain', rain, 'base', integer(base))
end
if #new_taps > 0 then
  redis.call('HSET', taps, unpack(new_taps))
end
if #winners > 0 then
  redis.call('LTRIM', stock, #winners, -1)
end
return answer
