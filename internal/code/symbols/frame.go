// SPDX-License-Identifier: Apache-2.0

package symbols

import "prywalk/internal/store/symbolized"

// Frame is a function at an address. System is Name if that is not mangled.
type Frame = symbolized.Frame
