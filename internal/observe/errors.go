// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/internal/refusal"
	"prywalk/ptrace"
)

// Reason classifies an error.
func Reason(err error) refusal.Reason {
	if errors.Is(err, ptrace.ErrPending) {
		return refusal.Busy
	}
	if r := refusal.Of(err); r != refusal.Self {
		return r
	}
	return refusal.Other // the target is prywalk
}
