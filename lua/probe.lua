-- probe.lua: writes as a tap that wins does, and leaves nothing.
--
-- KEYS
--   1  rr:{probe.<n>}:outbox   stream: exists within this script only
-- ARGV
--   none
-- RETURNS
--   1
-- ATOMICITY
--   Run again it does the same. Redis refuses it where it would refuse a win: on a replica, without space, or for
--   a user without the right to the key.

redis.call('XADD', KEYS[1], '*', 'probe', '')
return redis.call('UNLINK', KEYS[1])
