-- allot.lua: leases wins of an address's guests in a campaign to nodes.
--
-- KEYS
--   1  rr:{<campaign>.room}:allotted   hash: address → wins that nodes have, used or not; "<address>\n<node>" → a node's
-- ARGV
--   1  the most wins of an address
--   2  the node
--   3  life of the key after the last call, in ms
--   4, 5, 6, 7, 8, 9, …  for each address: the address; the node's leased wins of it, used or not; the number that it requests,
--      or below 0 the number that it returns
-- RETURNS
--   an array: for each address the number granted to the node, and the sum of all nodes now
-- ATOMICITY
--   One step. If a node has more than is stored, Redis has lost the lease: it is counted again. Run again (a
--   lost answer) it leases again, and the earlier lease is lost: an address has fewer wins then, and never more.

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
