-- grab.lua: decides a batch of taps on one shard: who gets which packet.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and sums, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list: what is left; all elements are "<amount>", or all are "<packet>:<amount>"
--   3  rr:{<campaign>.<shard>}:wins    hash: user -> their wins, see below
--   4  rr:{<campaign>.<shard>}:taps    hash: user -> "<taps counted>;<drop>;<drop>;", the drops being the last counted
--   5  rr:{<campaign>.<shard>}:outbox  stream: what has to be paid
-- RECORDS
--   A player's wins are ";<drop>=<packet>=<amount>=<outbox entry>" for each, in the order won. Where more than 8 are allowed, the
--   older ones move to blocks, so that a win costs the same however many there are. A block is a field of the same hash and
--   never changes. The fields are
--     user       the wins that are in no block; before them, where there are blocks,
--                "<newest drop in them> <wins in them> <blocks> <their amount>"
--     user \n b  the b-th block, from 1: its wins; before them "<newest drop in the blocks before>", '' in the first
--   With a shard's first block its wins_per_user becomes "<number> in blocks". A version before blocks would not see what is in them, and
--   give their wins again: it cannot compare with that, and its taps fail with nothing done.
-- ARGV
--   1 ... n       user of each tap, in the order they came; 1 to 500 taps. A user has no control characters
--   n+1 ... 2n    drop of each tap, "<wave>.<k>"; the caller has seen to both
-- RETURNS
--   a string of six lines:
--    1  the number of packets left in the stock
--    2  the id of the outbox entry with all that is won now, '' where nothing is
--    3  a letter for each tap:
--       w  won now
--       b  won before, and asked for again
--       a  the player has all the wins allowed
--       s  none is left
--       n  not open: no rain, before or after it, paused, closed
--       l  the player's taps are used up
--       e  nothing in this one: the pacing has released no more by now
--    4  the number of the first packet won now, '' where none is
--    5  of each w in turn "<amount>", which is that of the next packet, or "<packet>:<amount>"; separated by a space
--    6  of each b in turn "<packet>=<amount>=<outbox entry>", separated by a space
--   error NOSTATE  Redis knows nothing of this shard, or not enough yet: it is being restored
-- ATOMICITY
--   Everything is read and computed before anything is written, so an error strikes while nothing has changed. The first
--   write is one that a full Redis refuses (XADD, or HSET where nobody wins), and Redis lets a script finish that it has let
--   write: so either all of the batch is recorded, its wins in the outbox included, or none of it. After the XADD its id is
--   put to texts that are there, and nothing is read out of any.
--   Run again (a lost answer, a player tapping twice), it gives a win again instead of another one, whatever the time
--   and the state; and does not count a tap twice that is among the player's last ones.

local state, stock, wins, taps, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local argv, n = ARGV, #ARGV / 2

local EARLY_MS = 250     -- how much before its start a rain is taken as begun: the nodes' clocks differ that much at most
local TAPS_BYTES = 256   -- how much of the drops that a player tapped is kept
local BLOCK_WINS = 8     -- where no more wins are allowed than these, there are no blocks
local BLOCK_BYTES = 300  -- how much of a player's wins is enough for a block; some 8 wins
local WIN_BYTES = 12     -- a win takes no fewer, so that a short record need not be counted
local SEMICOLON = 59     -- begins a record without blocks
local DIGITS = { '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }

local byte, find, match, sub, concat = string.byte, string.find, string.match, string.sub, table.concat

local function integer(number) return string.format('%.0f', number) end -- tostring would write 1e+15

-- Read -----------------------------------------------------------------------------------------------------------------

local s = redis.call('HMGET', state, 'status', 'first', 'total', 'left', 'won', 'amount_won', 'wins_per_user',
  'taps_per_user', 'rain', 'opens', 'closes', 'paced', 'duration_ms', 'base_rain', 'base')
local status = s[1]
if not status or status == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
local left, won, amount_won = tonumber(s[4]), tonumber(s[5]), tonumber(s[6])
local wins_per_user, taps_per_user = tonumber(match(s[7], '^%d+')), tonumber(s[8])
local rain, opens, closes = s[9], tonumber(s[10]), tonumber(s[11])

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local open = status == 'open' and now >= opens - EARLY_MS and now < closes
local count = redis.call('LLEN', stock)

local records = redis.call('HMGET', wins, unpack(argv, 1, n))
local tapped_before = {}
if open and taps_per_user > 0 then
  tapped_before = redis.call('HMGET', taps, unpack(argv, 1, n))
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

-- A number for each drop, that grows with the wave, and in a wave with the drop's place: a longer text is a later place. Nothing goes wrong
-- where it does not grow, as where a text of 16 characters counts as none: a block is looked into in vain.
local numbers = {}
local function number_of(drop)
  local number = numbers[drop]
  if not number then
    number = drop + 0 -- patterns would be slow
    local wave = number - number % 1
    number = wave + (#drop % 16 + number - wave) / 16
    numbers[drop] = number
  end
  return number
end

-- The win of that drop, as the answer tells of it, or nil; and how many wins are in blocks. Most taps are on newer drops than those.
local function won_before(user, drop, record)
  local win, blocked = ';' .. drop .. '=', 0
  local _, stop = find(record, win, 1, true)
  if byte(record, 1) ~= SEMICOLON then -- without the 1 the stand-in's Lua looks at all of it
    local after_newest = find(record, ' ', 1, true)
    local after_wins = find(record, ' ', after_newest + 1, true)
    local newest, block = sub(record, 1, after_newest - 1), nil
    blocked = sub(record, after_newest + 1, after_wins - 1)
    while not stop and newest and number_of(drop) <= number_of(newest) do
      block = block and block - 1 or match(record, '^%d+', after_wins + 1)
      record = redis.call('HGET', wins, user .. '\n' .. block)
      _, stop = find(record, win, 1, true)
      newest = match(record, '^[%d.]+')
    end
  end
  return stop and match(record, '^%d+=%d+=[%d-]+', stop + 1), blocked
end

-- Has a player all that are allowed, with that record, so many wins in blocks, and so many in this batch?
local function has_all(record, blocked, fresh)
  local number = fresh + blocked
  if not record then
    return number >= wins_per_user
  end
  if number + #record / WIN_BYTES < wins_per_user then
    return false
  end
  local at = find(record, ';', 1, true)
  while at do
    number, at = number + 1, find(record, ';', at + 1, true)
  end
  return number >= wins_per_user
end

-- May the player of the i-th tap tap this drop? Counts the tap if so, unless it has been counted.
local tapped, new_taps = {}, {} -- user -> where in new_taps their taps are
local function within_allowance(i, user, drop)
  local slot = tapped[user]
  local before = slot and new_taps[slot] or tapped_before[i] or '0;'
  if find(before, ';' .. drop .. ';', 1, true) then
    return true
  end
  local number = tonumber(match(before, '^%d+'))
  if number >= taps_per_user then
    return false
  end
  local drops = match(before, ';.*$') .. drop .. ';'
  if #drops > TAPS_BYTES then
    drops = match(sub(drops, -TAPS_BYTES), ';.*$') -- the oldest go, and none stays in half
  end
  if not slot then
    slot = #new_taps + 2
    tapped[user], new_taps[slot - 1] = slot, user
  end
  new_taps[slot] = integer(number + 1) .. drops
  return true
end

-- A player may stand in a batch many times.
local codes = {}           -- of each tap
local latest = {}          -- user -> their last tap so far
local earlier = {}         -- tap -> the same player's one before
local repeated = false     -- there is such a tap
local again = {}           -- what was won before: its text, or the tap of this batch that won it
local winner = {}          -- the taps that win, in order
local winners = 0
for i = 1, n do
  local user, drop, record = argv[i], argv[n + i], records[i]
  local win, blocked, fresh, before = nil, 0, 0, latest[user]
  if record then
    win, blocked = won_before(user, drop, record)
  end
  latest[user] = i
  if before then
    earlier[i], repeated = before, true
    while before and not win do
      if codes[before] == 'w' then
        win, fresh = argv[n + before] == drop and before, fresh + 1
      end
      before = earlier[before]
    end
  end
  if win then
    again[#again + 1] = win
    codes[i] = 'b'
  elseif not open then
    codes[i] = 'n'
  elseif (record or fresh > 0) and has_all(record, blocked, fresh) then
    codes[i] = 'a'
  elseif taps_per_user > 0 and not within_allowance(i, user, drop) then
    codes[i] = 'l'
  elseif winners >= count then
    codes[i] = 's'
  elseif winners >= released then
    codes[i] = 'e'
  else
    winners = winners + 1
    winner[winners] = i
    codes[i] = 'w'
  end
end

-- Which packets they are: the stock is only looked at here, and cut below.
local amounts, packets, lines, first, sum = {}, {}, {}, '', 0
local taken = ''
local new_wins, written = {}, 0
local allowed = s[7] -- as it is to stand in the state
local rests = {} -- user -> what is left of a record of which the wins have become a block
if winners > 0 then
  amounts = redis.call('LRANGE', stock, 0, winners - 1)
  taken = concat(amounts, ' ')
  local numbered = find(amounts[1], ':', 1, true)
  first = tonumber(s[2]) + tonumber(s[3]) - count -- of these, in a stock without numbers
  -- Lua is slow at writing numbers, so only each tenth is written whole.
  local tens, units = math.floor(first / 10), first % 10
  local front = tens > 0 and tens .. '' or ''
  for w = 1, winners do
    local packet, amount = front .. DIGITS[units + 1], amounts[w]
    if numbered then
      packet, amount = match(amount, '^(%d+):(%d+)$')
      amounts[w] = amount
    elseif units < 9 then
      units = units + 1
    else
      tens, units = tens + 1, 0
      front = tens .. ''
    end
    packets[w], sum = packet, sum + amount
    local i = winner[w]
    local user, record = argv[i], records[i]
    lines[w] = packet .. ' ' .. amount .. ' ' .. argv[n + i] .. ' ' .. user
    if record and #record >= BLOCK_BYTES and wins_per_user > BLOCK_WINS and not rests[user] then
      local before, number, block, total, from = match(record, '^(%S+) (%d+) (%d+) (%d+)()')
      if not before then
        before, number, block, total, from = '', 0, 0, 0, 1
      end
      local newest, at = before, from
      while at do
        local after_drop = find(record, '=', at, true)
        local after_packet = find(record, '=', after_drop + 1, true)
        local after_amount = find(record, '=', after_packet + 1, true)
        local drop = sub(record, at + 1, after_drop - 1)
        if newest == '' or number_of(drop) > number_of(newest) then
          newest = drop
        end
        number, total = number + 1, total + sub(record, after_packet + 1, after_amount - 1)
        at = find(record, ';', after_amount, true)
      end
      block = block + 1
      new_wins[written + 1], new_wins[written + 2] = user .. '\n' .. block, before .. sub(record, from)
      written, allowed = written + 2, integer(wins_per_user) .. ' in blocks'
      rests[user] = newest .. ' ' .. number .. ' ' .. block .. ' ' .. integer(total)
    end
  end
end

-- Write ----------------------------------------------------------------------------------------------------------------

local id = ''
if winners > 0 then
  id = redis.call('XADD', outbox, '*', 'wins', concat(lines, '\n'))
  local slots = {} -- user -> where in new_wins their record is
  for w = 1, winners do
    local i = winner[w]
    local user = argv[i]
    local slot, record = repeated and slots[user], nil
    if slot then
      record = new_wins[slot]
    else
      slot, record = written + 2, rests[user] or records[i] or ''
      new_wins[written + 1], written = user, slot
      if repeated then
        slots[user] = slot
      end
    end
    new_wins[slot] = record .. ';' .. argv[n + i] .. '=' .. packets[w] .. '=' .. amounts[w] .. '=' .. id
  end
  redis.call('HSET', wins, unpack(new_wins))
  redis.call('HSET', state, 'left', integer(left - sum), 'won', integer(won + winners),
    'amount_won', integer(amount_won + sum), 'last', id)
  if allowed ~= s[7] then
    redis.call('HSET', state, 'wins_per_user', allowed)
  end
end
if base_is_new then
  redis.call('HSET', state, 'base_rain', rain, 'base', integer(base))
end
if #new_taps > 0 then
  redis.call('HSET', taps, unpack(new_taps))
end
if winners > 0 then
  redis.call('LTRIM', stock, winners, -1)
end

if repeated then
  local place = {}
  for w = 1, winners do
    place[winner[w]] = w
  end
  for a, win in ipairs(again) do
    local w = place[win]
    if w then
      again[a] = packets[w] .. '=' .. amounts[w] .. '=' .. id
    end
  end
end
return count - winners .. '\n' .. id .. '\n' .. concat(codes) .. '\n' .. first .. '\n' .. taken .. '\n' .. concat(again, ' ')
