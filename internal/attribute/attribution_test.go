// SPDX-License-Identifier: Apache-2.0

package attribute

import "testing"

// The waiter's account was closed after this process was reparented.
func TestTimeIsPassedToOpenAccountsOnly(t *testing.T) {
	to := &process{node: &Node{}}
	p := &process{node: &Node{}, waiter: to}
	a := &Attribution{byNode: map[*Node]*process{to.node: to, p.node: p}}
	if a.passedTo(p) != to {
		t.Error("an open account gets nothing")
	}
	delete(a.byNode, to.node)
	if a.passedTo(p) != nil {
		t.Error("a closed account gets time that nobody books")
	}
}
