// SPDX-License-Identifier: Apache-2.0

package pprofweb

import "testing"

func TestWhoListensEverywhereAnswersToAnyAddress(t *testing.T) {
	everywhere := newGuard("0.0.0.0", "80")
	for host, want := range map[string]bool{"192.0.2.7": true, "192.0.2.7:80": true, "[2001:db8::1]:80": true,
		"evil.example": false} {
		if got := everywhere.acceptsHost(host); got != want {
			t.Errorf("listening everywhere, Host %s: %v", host, got)
		}
	}
}
