-- allow.lua: takes from a token bucket that all nodes share.
--
-- KEYS
--   1  rr:{allow.<name>.<key>}:bucket   hash: tokens (a decimal number), at (time of the count, Unix microseconds)
-- ARGV
--   1  tokens that flow in per second, a decimal number above 0
--   2  tokens that the bucket holds, a decimal number
--   3  tokens to take
-- RETURNS
--   an array: 1 if they were taken and 0 if not; the time to wait before there are enough, in ms; the tokens
--   that are left. A request above the size of the bucket
--   has to wait for a full bucket
-- ATOMICITY
--   Run again it takes again: a caller whose answer was lost has fewer tokens, and never more.
--   A full bucket is the same as none, so the key goes when it would be full.

local rate, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local b = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(b[1] or burst), tonumber(b[2] or now)
tokens = math.min(burst, tokens + math.max(0, now - at) * rate / 1000000)

local allowed, wait = 0, 0
if tokens >= cost then
  allowed, tokens = 1, tokens - cost
else
  wait = math.ceil((math.min(cost, burst) - tokens) / rate * 1000)
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', tokens), 'at', string.format('%.0f', now))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil((burst - tokens) / rate * 1000) + 1))
return { allowed, wait, math.floor(tokens) }
