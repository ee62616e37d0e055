// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"fmt"
	"testing"

	"prywalk/internal/walk/waits"
)

// Work that waits for an idle thread is not idle, nor is that thread, nor the one for which it waits in turn.
func TestAThreadForWhichWorkWaitsIsNotIdle(t *testing.T) {
	pool, none := waits.Idleness{Idle: waits.IdlePool}, waits.Idleness{}
	guess := waits.Idleness{IdleGuess: "take_job"}
	thread := func(tid int, kind waits.Kind, owner int, idle waits.Idleness) Thread {
		return Thread{TID: tid, WaitsFor: &waits.Wait{Kind: kind, Ownership: waits.Ownership{Owner: owner}, Idleness: idle}}
	}
	one := &Process{PID: 1, Threads: []Thread{
		thread(1, waits.Mutex, 2, none), thread(2, waits.Mutex, 3, pool), thread(3, waits.Condition, 0, guess),
		thread(4, waits.Mutex, 5, pool), thread(5, waits.Condition, 0, pool), // only an idle one waits for it
		thread(6, waits.Join, 7, none), thread(7, waits.Descriptor, 0, pool), // for a connection, not for a thread
		{TID: 8}, thread(9, waits.Mutex, 20, none), thread(10, waits.Mutex, 99, none)}}
	two := &Process{PID: 2, Threads: []Thread{thread(20, waits.Park, 9, pool)}}
	ClearAwaitedIdleness(one, two)
	idle := []int{}
	for _, th := range ThreadsOf([]*Process{one, two}) {
		if th.WaitsFor != nil && th.WaitsFor.Idleness != none {
			idle = append(idle, th.TID)
		}
	}
	if want := []int{4, 5, 7}; fmt.Sprint(idle) != fmt.Sprint(want) {
		t.Errorf("threads %v are idle, want %v", idle, want)
	}
}
