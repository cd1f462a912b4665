-- grab.lua: decides a batch of taps on one shard: which player gets which packet. The players of a batch are all different.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of the packets left: ranges "<first>-<last>" of packets, a '.', then see close.lua
--   3  rr:{<campaign>.<shard>}:wins    hash: the players' wins, see below
--   4  rr:{<campaign>.<shard>}:taps    hash: "<user>" -> taps counted; "<user>\n<ticket>" -> '' for each of them
--   5  rr:{<campaign>.<shard>}:outbox  stream: entries to be paid
-- RECORDS
--   The wins hash has for each player "<user>" -> "<number of wins> <newest ticket>", and for each win "<user>\n<ticket>" ->
--   "<packet> <outbox entry> <ticket won before that, '' in the first>". So a tap's cost does not grow with the player's wins.
-- ARGV
--   1              the first wave of the rain that the taps are of
--   2              id of the newest outbox entry of this shard that the caller has seen, '0-0' for none
--   3              number of moves of this shard that the caller has seen
--   4              time of the call and of the seals of the taps, Unix ms on the cluster's clock
--   5              the line that its outbox entry gets if it wins, of each tap; '\n' between them
--   6 ... 2n+5     user of each tap, in the order they came, then ticket of each tap; 1 to 500 taps
-- RETURNS
--   a string of lines:
--    1     packets left; moves of this shard
--    2     the id of the outbox entry with all new wins, '' if there are none
--    3     a code for each tap:
--          w  won now
--          b  won before, and asked for again
--          a  the player has all the wins allowed
--          d  sold_out: this shard has no packets left
--          n  not open: no rain, another rain, before or after it, paused, closed
--          l  the player's taps are used up
--          e  empty: held back by the pacing
--    4     the ranges of packets won now, in the order of the taps that won, separated by a space
--    5 ... for each b in turn its record in the wins hash
--   error NOSTATE  Redis has no state of this shard: it is lost, or being restored
--   error BEHIND   Redis has less of this shard than the caller has seen: it was rolled back
-- ATOMICITY
--   The script reads and decides before it writes, so an error changes nothing. A full Redis refuses the first write. Redis
--   lets a script that has written finish. So it records the complete batch, with its wins in the outbox, or nothing.
--   A repeated call (a lost answer, a player who taps twice) returns the same win, at any time and in any state. It does not
--   count a tap twice.

local state, stock, wins, taps, outbox, argv = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV
local EARLY_MS = 250 -- taps count this long before the rain's start: nodes' clocks may differ that much
local BEATS_AHEAD, PART_AHEAD = 4, 10 -- with draws the pacing is 4 beats plus 1/10 of the rain ahead
local DIGIT = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
local USER, TICKET, n = 5, (#argv + 5) / 2, (#argv - 5) / 2 -- five arguments come before those of the n taps
local match, format, concat = string.match, string.format, table.concat

-- Read -----------------------------------------------------------------------------------------------------------------

local s = redis.call('HMGET', state, 'status', 'left', 'won', 'last', 'moves', 'wins_per_user', 'taps_per_user', 'first_wave',
  'opens', 'closes', 'paced', 'duration_ms', 'base_wave', 'base', 'beat_ms')
local status, last, moves = s[1], s[4], s[5]
if not status or status == 'rebuilding' then
  return redis.error_reply('NOSTATE Redis knows nothing of this shard')
end
if argv[2] ~= last or argv[3] ~= moves then
  local known_ms, known_seq = match(argv[2], '^(%d+)-(%d+)$')
  local ms, seq = match(last, '^(%d+)-(%d+)$')
  known_ms, ms = tonumber(known_ms), tonumber(ms)
  if ms < known_ms or ms == known_ms and tonumber(seq) < tonumber(known_seq) or tonumber(moves) < tonumber(argv[3]) then
    return redis.error_reply('BEHIND Redis has forgotten what came after ' .. last .. ' and move ' .. moves)
  end
end
local left, won, wins_per_user, taps_per_user = tonumber(s[2]), tonumber(s[3]), tonumber(s[6]), tonumber(s[7])
local opens, closes, duration, beat = tonumber(s[9]), tonumber(s[10]), tonumber(s[12]), tonumber(s[15])

local now = tonumber(argv[4]) -- not this server's TIME: its clock may be wrong, and those of the nodes agree
local open = status == 'open' and s[8] == argv[1] and now >= opens - EARLY_MS and now < closes

local records, field, known = redis.call('HMGET', wins, unpack(argv, USER + 1, TICKET)), {}, {}
for i = 1, n do
  field[i] = argv[USER + i] .. '\n' .. argv[TICKET + i]
  if records[i] then known[#known + 1] = field[i] end -- a player without any win cannot have won with it
end
local before = #known > 0 and redis.call('HMGET', wins, unpack(known))
local limited = open and taps_per_user > 0
local counted = limited and redis.call('HMGET', taps, unpack(argv, USER + 1, TICKET))
local tapped_before = limited and redis.call('HMGET', taps, unpack(field))

-- Decide ---------------------------------------------------------------------------------------------------------------

-- The number of packets that may go now. The pacing counts from the stock at the rain's first batch; lend.lua and
-- borrow.lua adjust that. With draws it releases the packets of a complete beat at once, so that early draws in a beat have
-- no better chances than late ones. It must not slow normal winners, and only stops a crowd larger than the odds expected.
local released, base = left, nil
if open and s[11] == '1' then
  base = s[13] == argv[1] and tonumber(s[14]) or left
  local elapsed = math.max(0, now - opens)
  if beat > 0 then elapsed = (math.floor(elapsed / beat) + BEATS_AHEAD) * beat + duration / PART_AHEAD end
  elapsed = math.min(elapsed, duration)
  released = math.max(0, math.floor(base * elapsed / duration) - (base - left))
end

local codes, again, new_wins, new_taps, winners, next_before = {}, {}, {}, {}, 0, 0
local more, newest = {}, {} -- by record: the player's next number of wins, false above the limit; the ticket won last
for i = 1, n do
  local record, win, code = records[i] or '0 ', nil, nil
  if records[i] then next_before = next_before + 1; win = before[next_before] end
  if not newest[record] then -- each distinct record is parsed once: many players have the same one
    local count, ticket = match(record, '^(%d+) (.*)$')
    if more[count] == nil then more[count] = tonumber(count) < wins_per_user and count + 1 .. '' end
    more[record], newest[record] = more[count], ticket
  end
  local tapped = limited and not tapped_before[i] and tonumber(counted[i] or 0)
  if win then
    code, again[#again + 1] = 'b', win
  elseif not open then
    code = 'n'
  elseif not more[record] then
    code = 'a'
  elseif tapped and tapped >= taps_per_user then
    code = 'l'
  else
    if tapped then
      new_taps[#new_taps + 1], new_taps[#new_taps + 2] = argv[USER + i], tapped + 1
      new_taps[#new_taps + 1], new_taps[#new_taps + 2] = field[i], ''
    end
    if winners >= left then
      code = 'd'
    elseif winners >= released then
      code = 'e'
    else
      local at = 4 * winners
      code, winners = 'w', winners + 1
      new_wins[at + 1], new_wins[at + 2] = argv[USER + i], more[record] .. ' ' .. argv[TICKET + i]
      new_wins[at + 3], new_wins[at + 4] = field[i], newest[record] -- the Write part puts packet and entry id in front of it
    end
  end
  codes[i] = code
end

-- Which packets they are, from the front of the stock; used is the number of its ranges that go completely.
-- To turn a number into text is slow, so it is done for ten packets at once: their tens, and the last digit of each.
local tens, ones, ranges, got, used, rest = {}, {}, {}, 0, 0, nil
if winners > 0 then
  for _, range in ipairs(redis.call('LRANGE', stock, 0, winners - 1)) do
    local first, final = match(range, '^(%d+)-(%d+)$')
    if not first or got == winners then break end
    first, final = tonumber(first), tonumber(final)
    local taken, before_last = math.min(final, first + winners - got - 1), nil
    for packet = first, taken do
      local last_digit = packet % 10
      if packet == first or last_digit == 0 then
        before_last = packet < 10 and '' or format('%d', (packet - last_digit) / 10)
      end
      got = got + 1
      tens[got], ones[got] = before_last, DIGIT[last_digit]
    end
    ranges[#ranges + 1] = first .. '-' .. taken
    if taken == final then used = used + 1 else rest = taken + 1 .. '-' .. final end
  end
  if got < winners then
    return redis.error_reply('NOSTATE the stock has fewer packets than the state says')
  end
end

-- Write ----------------------------------------------------------------------------------------------------------------

local id = ''
if winners > 0 then
  local lines = argv[5]
  if winners < n then
    local all, i = {}, 0
    for line in string.gmatch(lines, '[^\n]+') do
      i = i + 1
      if codes[i] == 'w' then all[#all + 1] = line end
    end
    lines = concat(all, '\n')
  end
  id = redis.call('XADD', outbox, '*', 'at', argv[4], 'packets', concat(ranges, ' '), 'wins', lines)
  local entry = ' ' .. id .. ' '
  for w = 1, winners do
    new_wins[4 * w] = tens[w] .. ones[w] .. entry .. new_wins[4 * w]
  end
  redis.call('HSET', wins, unpack(new_wins))
  redis.call('HSET', state, 'left', left - winners, 'won', won + winners, 'last', id)
  if used > 0 then redis.call('LTRIM', stock, used, -1) end
  if rest then redis.call('LSET', stock, 0, rest) end
end
if base and s[13] ~= argv[1] then redis.call('HSET', state, 'base_wave', argv[1], 'base', base) end
if #new_taps > 0 then redis.call('HSET', taps, unpack(new_taps)) end
return left - winners .. ' ' .. moves .. '\n' .. id .. '\n' .. concat(codes) .. '\n' ..
  concat(ranges, ' ') .. '\n' .. concat(again, '\n')
