-- textbook.lua: one tap of one player.
--
-- KEYS  1 stock (list of JSON objects), 2 winners (hash: "<user>:<drop>" -> the object), 3 payouts (list)
-- ARGV  1 campaign, 2 user, 3 drop
-- RETURNS  the packet's object where it is won, 1 has won with this drop before, 2 none left
local field = ARGV[2] .. ':' .. ARGV[3]
if redis.call('HEXISTS', KEYS[2], field) == 1 then
  return 1
end
local packet = redis.call('RPOP', KEYS[1])
if not packet then
  return 2
end
redis.call('HSET', KEYS[2], field, packet)
redis.call('LPUSH', KEYS[3], ARGV[1] .. ' ' .. packet .. ' ' .. ARGV[2])
return packet
