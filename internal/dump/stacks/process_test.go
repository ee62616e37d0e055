// SPDX-License-Identifier: Apache-2.0

package stacks

import "testing"

func TestFirstThreadComesFirstAlsoWhereNumbersWrapped(t *testing.T) {
	p := &Process{PID: 32767, Threads: []Thread{{TID: 301}, {TID: 32767}, {TID: 300}}}
	p.SortThreads()
	if p.Threads[0].TID != 32767 || p.Threads[1].TID != 300 || p.Threads[2].TID != 301 {
		t.Errorf("%+v", p.Threads)
	}
}
