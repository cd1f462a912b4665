-- seats.lua: renews the slots of a node's players, or frees those of players who have left.
--
-- KEYS
--   1  rr:{<campaign>.room}:seats   sorted set: players with a slot → its end, Unix ms
--   2  rr:{<campaign>.room}:nodes   hash: a player with a slot → their node, '*' for several
-- ARGV
--   1  'keep' for present players; 'lost' for players with a lost connection, who may come back; 'left' for players
--      who have left for good
--   2  the node
--   3  life of the slots from now on, in ms; ignored with 'left'
--   4  life of the keys after the last call, in ms
--   5  time of the call, Unix ms on the cluster's clock
--   6, 7, 8, …  the players
-- RETURNS
--   the number of slots that Redis did not have: it has lost them, or the node has not renewed them for too long
-- ATOMICITY
--   One step. Run again it changes nothing but the times. The slot of a player on several nodes is not freed by one
--   of them: it ends by itself. The first write is one that a full Redis refuses; freeing may be refused with it, and
--   then the slots end by themselves.

local seats, nodes, what, node = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local till = string.format('%.0f', ARGV[5] + ARGV[3])

local unknown = 0
for i = 6, #ARGV do
  local user = ARGV[i]
  if what == 'keep' then
    unknown = unknown + redis.call('ZADD', seats, till, user)
    redis.call('HSETNX', nodes, user, node)
  elseif redis.call('HGET', nodes, user) == node then
    if what == 'lost' then
      redis.call('ZADD', seats, 'XX', till, user)
    else
      redis.call('ZREM', seats, user)
    end
    redis.call('HDEL', nodes, user)
  end
end
redis.call('PEXPIRE', seats, ARGV[4])
redis.call('PEXPIRE', nodes, ARGV[4])
return unknown
