// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"testing"

	"prywalk/internal/walk/managed"
)

func TestWaitsOfFibersAreNamedByTheMethodThatTheProgramCalled(t *testing.T) {
	const async = "/usr/lib/ruby/gems/3.1.0/gems/async-2.0.0/lib/async/task.rb"
	for want, stack := range map[string][]managed.Frame{
		"take":  {{Function: "take", File: "/app/a.rb"}, {Function: "run", File: "/app/a.rb"}},
		"yield": {{Function: "yield"}, {Function: "take", File: "/app/a.rb"}},
		"sleep": {{Function: "transfer"}, {Function: "kernel_sleep", File: async},
			{Function: "sleep", File: "<internal:kernel>"}, {Function: "job", File: "/app/async-task.rb"}},
		"wait": {{Function: "yield"}, {Function: "wait", File: async}, {Function: "block in make_fiber", File: async}},
		"read": {{Function: "read"}},
	} {
		if got := fiberWait(stack); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
