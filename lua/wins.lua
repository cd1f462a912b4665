-- wins.lua: reads a player's wins, the newest first.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:wins  hash: the players' wins, see grab.lua
-- ARGV
--   1  the player
--   2  the ticket of the win to begin with, '' for the newest
--   3  most wins to read
-- RETURNS
--   an array: the number of the player's wins; then of each win its ticket and its record in the hash. The record's last word
--   is the ticket of the win before, with which to go on
-- ATOMICITY
--   It writes nothing. A win never changes, so several steps read the state of the first, without newer wins.

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
