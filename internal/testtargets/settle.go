// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"context"
	"time"
)

// Settle waits until a program should be past its start (caches, compilation).
func Settle(ctx context.Context, name string) {
	wait := time.Second
	if name == "java" || name == "node" {
		wait = 3 * time.Second
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
