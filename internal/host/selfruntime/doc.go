// SPDX-License-Identifier: Apache-2.0

// Package selfruntime keeps prywalk's Go runtime from delaying stops by garbage collection. It measures prywalk's CPU
// time.
package selfruntime
