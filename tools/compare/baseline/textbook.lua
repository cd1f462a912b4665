-- textbook.lua: one tap of one player.
--
-- KEYS  1 stock (list of JSON objects), 2 winners (hash: "<user>:<drop>" -> the object), 3 payouts (list)
-- ARGV  1 campaign, 2 user, 3 drop
-- RETURNS  {1} has won with this drop before, {2} none left, {0, packet, amount} won
local field = ARGV[2] .. ':' .. ARGV[3]
if redis.call('HEXISTS', KEYS[2], field) == 1 then
  return { 1 }
end
local packet = redis.call('RPOP', KEYS[1])
if not packet then
  return { 2 }
end
local p = cjson.decode(packet)
redis.call('HSET', KEYS[2], field, packet)
redis.call('LPUSH', KEYS[3], ARGV[1] .. ' ' .. packet .. ' ' .. ARGV[2])
return { 0, p.id, p.amount }
