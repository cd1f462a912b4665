-- allot.lua: lends nodes wins that the guests of an address may still have in a campaign.
--
-- KEYS
--   1  rr:{<campaign>.room}:allotted   hash: address → wins that nodes have, used or not; "<address>\n<node>" → a node's
-- ARGV
--   1  the most that an address may have
--   2  the node
--   3  how long the key is kept after the last call, in ms
--   4, 5, 6, 7, 8, 9, …  for each address: the address; what the node has of it already, used or not; how many it wants, or
--      below 0 how many of these it gives back
-- RETURNS
--   an array: of each address how many the node has got, and how many all nodes have now
-- ATOMICITY
--   One step. A node that has more than is written has it from a Redis that has forgotten: it is counted again. Run again (a
--   lost answer) it lends again, and what was lent before is nobody's: an address has less then, and never more.

local most, node = tonumber(ARGV[1]), ARGV[2]
local answer = {}
for i = 4, #ARGV, 3 do
  local address, has, want = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local field = address .. '\n' .. node
  local known = redis.call('HMGET', KEYS[1], address, field)
  local total = tonumber(known[1] or 0) + math.max(0, has - tonumber(known[2] or 0))
  local got = math.min(want, math.max(0, most - total))
  total = math.max(0, total + got)
  redis.call('HSET', KEYS[1], address, string.format('%.0f', total), field, string.format('%.0f', has + got))
  answer[#answer + 1], answer[#answer + 2] = got, total
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return answer
