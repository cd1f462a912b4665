-- wins.lua: reads a player's wins, the newest first.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:wins  hash: the players' wins, see grab.lua
-- ARGV
--   1  the player
--   2  the ticket of the win to begin with, '' for the newest
--   3  how many wins to read at most
-- RETURNS
--   an array: how many wins the player has in all; then of each win its ticket and what the hash has of it. The last word of that
--   is the ticket of the win before, with which to go on
-- ATOMICITY
--   It writes nothing. A win never changes, so what is read in several steps is as it was at the first, without newer ones.

local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record then
  return { 0 }
end
local count, ticket = string.match(record, '^(%d+) (.*)$')
if ARGV[2] ~= '' then
  ticket = ARGV[2]
end
local answer = { tonumber(count) }
while ticket and ticket ~= '' and #answer < 2 * ARGV[3] + 1 do
  local win = redis.call('HGET', KEYS[1], ARGV[1] .. '\n' .. ticket)
  if not win then break end
  answer[#answer + 1], answer[#answer + 2] = ticket, win
  ticket = string.match(win, '^%d+ [%d-]+ (.*)$')
end
return answer
