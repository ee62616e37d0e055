// SPDX-License-Identifier: Apache-2.0

// Package locks finds locks, deadlocks, starved pools, and the verdict.
//
// # Algorithm
//
// A thread that waits without a timeout leads to the owner of its lock; a cycle that stands is a deadlock. Owners that
// only stacks show are likely, and a cycle through them is possible. Of the threads
//
//	1 waits for mutex a, held by 2
//	2 waits for mutex b, held by 1
//	3 waits for mutex a, held by 2
//	4 waits for a condition
//
// 1 → 2 → 1 is the cycle: if the [Checker] finds it unchanged, the verdict is [VerdictDeadlock]. Without thread 2's
// wait it is [VerdictUnknown], as a condition has no owner; without thread 4's, too, [VerdictNone].
package locks
