// SPDX-License-Identifier: Apache-2.0

package attribute

import "testing"

// The waiter's account was closed after this process was reparented.
func TestTimeIsPassedToOpenAccountsOnly(t *testing.T) {
	to := &process{member: &Member{}}
	p := &process{member: &Member{}, waiter: to}
	a := &Attribution{byMember: map[*Member]*process{to.member: to, p.member: p}}
	if a.passedTo(p) != to {
		t.Error("an open account gets nothing")
	}
	delete(a.byMember, to.member)
	if a.passedTo(p) != nil {
		t.Error("a closed account gets time that nobody books")
	}
}
