// SPDX-License-Identifier: Apache-2.0

// Package monotonic defines points of the kernel's clock CLOCK_MONOTONIC (clock_gettime(2)).
package monotonic

import "time"

// Moment is a point of CLOCK_MONOTONIC. It is 0 where none is meant.
type Moment int64

// Add returns the moment d later.
//
//go:nosplit
func (m Moment) Add(d time.Duration) Moment { return m + Moment(d) }

// Sub returns the time since an earlier moment.
//
//go:nosplit
func (m Moment) Sub(earlier Moment) time.Duration { return time.Duration(m - earlier) }
