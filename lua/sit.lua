-- sit.lua: gives guests of one address slots in a campaign's room, up to a limit.
--
-- KEYS
--   1  rr:{<campaign>.room}:guests.<address>   sorted set: the address's present guests → end of their slots, Unix ms
-- ARGV
--   1  most guests; 0 to renew the slots of present guests
--   2  life of the slots from now on, in ms
--   3  time of the call, Unix ms on the cluster's clock
--   4, 5, 6, …  the guests
-- RETURNS
--   the number of refused guests
-- ATOMICITY
--   One step. Run again it changes nothing but the times. The first write is one that a full Redis refuses.

local seats, now = tonumber(ARGV[1]), tonumber(ARGV[3])
local till = string.format('%.0f', now + tonumber(ARGV[2]))

local there, refused = redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf'), 0
for i = 4, #ARGV do
  local sits = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or 0) > now
  if sits or seats == 0 or there < seats then
    redis.call('ZADD', KEYS[1], till, ARGV[i])
    if not sits then there = there + 1 end
  else
    refused = refused + 1
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return refused
