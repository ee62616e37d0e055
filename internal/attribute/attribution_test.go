// SPDX-License-Identifier: Apache-2.0

package attribute

import "testing"

// The account of the process that waits was closed after this process was reparented.
func TestTimeIsPassedToOpenAccountsOnly(t *testing.T) {
	to := &process{node: &Node{}}
	p := &process{node: &Node{}, waiter: to}
	a := &Attribution{byNode: map[*Node]*process{to.node: to, p.node: p}}
	if a.passedTo(p) != to {
		t.Error("time of a process is not passed to the open account of its parent")
	}
	delete(a.byNode, to.node)
	if a.passedTo(p) != nil {
		t.Error("time of a process is passed to a closed account, which loses it")
	}
}
