// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// BeginAt begins the account of a running thread without a known stack.
func (t *Thread) BeginAt(r sample.Reading) {
	if t.Begin(r); t.CreatedAt == 0 {
		t.clock.Begin(r)
	}
}

// Claim adds a sample of a thread that ended before its clocks were read again, with weight period, ns.
func (p *Process) Claim(where Seen, at, period int64) {
	if !p.Selected {
		where.State, where.Wait = sample.Running, ""
		p.threads.weights.add(where, at, period)
	}
}
