-- Purpose: a blocked key; the twin of algorithms/block.ts.
-- KEYS: a string per key. State: blocked until.
-- Reply: the state.

local block = { format = "<d", cells = 1 }

function block.settle(policy, state)
  return { state[1] }, false
end

function block.fits(policy, state, cost, now)
  return now >= state[1]
end

-- The cost is the duration. A check charges 0, which changes nothing.
function block.charge(policy, state, cost, now)
  if cost > 0 then state[1] = now + cost end
end

function block.used()
  return 0
end

function block.refund()
end

function block.expires(policy, state)
  return state[1]
end
