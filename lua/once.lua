-- once.lua: of many callers, lets the first one through.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:once:<id>   string: the token of the caller that was first
-- ARGV
--   1  token of this caller, different for each call
--   2  how long to remember, in ms
-- RETURNS
--   1  this caller is the first
--   0  another one was
-- ATOMICITY
--   Run again for the same caller (its answer was lost on the way) it gives the same answer.

if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
return 0
