-- admit.lua: admits a player to a campaign's room, or returns their position in the waiting room.
--
-- KEYS
--   1  rr:{<campaign>.room}:seats   sorted set: players with a slot → its end, Unix ms
--   2  rr:{<campaign>.room}:queue   sorted set: waiting players → their number, in the order of arrival
--   3  rr:{<campaign>.room}:asked   sorted set: waiting players → the end of their position, Unix ms
--   4  rr:{<campaign>.room}:nodes   hash: a player with a slot → their node, '*' for several
--   5  rr:{<campaign>.room}:door    hash: next (the newest number); tokens, at, last; from, before, since, now: see below
-- ARGV
--   1  most players in the room; 0: no limit
--   2  most admissions in a second; 0: no limit
--   3  the player
--   4  the player's node; '' for a player who is not connected yet
--   5  life of a slot from now on, in ms: until the player connects, or until their node renews it
--   6  a factor for the time after which to ask again, which spreads the requests
--   7  life of the keys after the last call, in ms
--   8  time of the call, Unix ms on the cluster's clock
-- RETURNS
--   an array. 1, then 1 for a player who has just been admitted and 0 for one with a slot already. Or 0, then the player's
--   position from 1, the time after which to ask again in ms, and the expected wait in ms. The wait is derived from the
--   admissions before; -1 if it is unknown
-- ATOMICITY
--   One step, so there are never more slots than ARGV[1]. Run again it changes no slot and no position. The
--   first write is one that a full Redis refuses.

local seats, queue, asked, nodes, door = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local capacity, rate, user, node = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local now = tonumber(ARGV[8])
local function ms(n) return string.format('%.0f', n) end

-- tokens are the admissions left, counted at the time "at". Two seconds' worth may be admitted at once, because a waiting player asks about once a second.
local d = redis.call('HMGET', door, 'tokens', 'at', 'from', 'before', 'since', 'now', 'last')
local most = math.max(1, 2 * rate)
local counted = tonumber(d[2] or now)
local tokens = math.min(most, tonumber(d[1] or most) + math.max(0, now - counted) * rate / 1000)
if now > counted or counted > now + 1000 then counted = now end -- nodes' clocks differ a little: no time counts twice
redis.call('HSET', door, 'tokens', string.format('%.3f', tokens), 'at', ms(counted))

-- Expired slots and positions are removed, a hundred with each call.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seats, '-inf', ms(now), 'LIMIT', 0, 100)) do
  redis.call('ZREM', seats, gone)
  redis.call('HDEL', nodes, gone)
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', asked, '-inf', ms(now), 'LIMIT', 0, 100)) do
  redis.call('ZREM', queue, gone)
  redis.call('ZREM', asked, gone)
end

local kept = redis.call('ZSCORE', seats, user)
local seated = kept and tonumber(kept) > now
if not seated then
  if not redis.call('ZSCORE', queue, user) then
    redis.call('ZADD', queue, redis.call('HINCRBY', door, 'next', 1), user)
  end
  local before = redis.call('ZRANK', queue, user)
  local free = math.huge
  if capacity > 0 then
    free = capacity - redis.call('ZCOUNT', seats, '(' .. ms(now), '+inf')
  end
  -- The first ones may enter. If none of them has come for two seconds they may have left, though their positions are
  -- kept for a while. Then more may enter: those of one more second with each second, ten at most.
  local idle = math.max(0, now - tonumber(d[7] or now) - 2000)
  local flow = rate == 0 or tokens >= 1 and before < most + math.min(10, math.floor(idle * rate / 1000))

  -- Recent admissions are counted in two spans of ten seconds or more: from..since, and since then.
  local from, earlier = tonumber(d[3] or now), tonumber(d[4] or 0)
  local since, lately = tonumber(d[5] or now), tonumber(d[6] or 0)
  if before >= free or not flow then
    local speed = (earlier + lately) / math.max(1000, now - from) -- players per ms
    if capacity == 0 then
      speed = rate / 1000
    end
    local wait = -1
    local again = 1000 + before * 10
    if speed > 0 then
      wait = (before + 1) / speed
      again = math.min(again, wait / 2)
    end
    again = math.max(1000, math.min(60000, again)) * tonumber(ARGV[6])
    redis.call('ZADD', asked, ms(now + again * 1.5 + 10000), user)
    redis.call('PEXPIRE', queue, ARGV[7])
    redis.call('PEXPIRE', asked, ARGV[7])
    redis.call('PEXPIRE', door, ARGV[7])
    return { 0, before + 1, math.floor(again), math.floor(wait) }
  end

  redis.call('ZREM', queue, user)
  redis.call('ZREM', asked, user)
  if now - since >= 10000 then
    from, earlier, since, lately = since, lately, now, 0
  end
  redis.call('HSET', door, 'tokens', string.format('%.3f', tokens - 1), 'from', ms(from), 'before', ms(earlier),
    'since', ms(since), 'now', ms(lately + 1))
  if before < most then
    redis.call('HSET', door, 'last', ms(now))
  end
  redis.call('HDEL', nodes, user)
end

-- Asking does not keep a seat: only who is there keeps one.
if node ~= '' or not seated then
  redis.call('ZADD', seats, ms(now + tonumber(ARGV[5])), user)
end
if node ~= '' then
  local where = redis.call('HGET', nodes, user)
  redis.call('HSET', nodes, user, (not where or where == node) and node or '*')
end
redis.call('PEXPIRE', seats, ARGV[7])
redis.call('PEXPIRE', nodes, ARGV[7])
redis.call('PEXPIRE', door, ARGV[7])
return { 1, seated and 0 or 1 }
