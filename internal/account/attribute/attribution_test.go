// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"
)

func TestTimeIsPassedToOpenAccountsOnly(t *testing.T) {
	to := &processAccount{node: &cutimeNode{}}
	p := &processAccount{node: &cutimeNode{}, passedTo: to}
	a := &Attribution{byNode: map[*cutimeNode]*processAccount{to.node: to, p.node: p}}
	if a.recipient(p) != to {
		t.Error("time of a process is not passed to the open account of its parent")
	}
	delete(a.byNode, to.node)
	if a.recipient(p) != nil {
		t.Error("time of a process is passed to a closed account, which loses it")
	}
}

func TestLateEventsOfChildrenOpenNoAccount(t *testing.T) {
	a := New(Scope{Children: true}, &parent{}, newSums())
	a.Apply(&ProcessStarted{Process: 1, PID: 7, FromStart: true})
	a.Apply(&ProcessEnded{Process: 1, At: 1e9})
	a.Apply(&Tick{At: 1e9 + 2*closeAfter})
	if len(a.procs) != 0 {
		t.Fatal("the account is not closed")
	}
	a.Apply(&UnassignedSample{Process: 1, StandsFor: 1e6, At: 2e9, OfChild: true})
	a.Apply(&UnassignedSample{Process: 1, StandsFor: 1e6, At: 2e9})
	if len(a.procs) != 0 {
		t.Error("an ended process has an account again")
	}
}
