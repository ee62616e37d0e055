// SPDX-License-Identifier: Apache-2.0

package target

import "testing"

func TestRejectedThreadsThatEndedAreForgotten(t *testing.T) {
	var p ThreadList
	for tid := range 100 {
		p.Reject(tid, 1)
	}
	p.ForgetRejected([]int{99, 7, 1000})
	if len(p.rejected) != 2 || p.rejected[7].since != 1 || p.rejected[99].since != 1 {
		t.Errorf("%d are remembered: %v", len(p.rejected), p.rejected)
	}
}
