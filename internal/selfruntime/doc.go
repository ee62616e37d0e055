// SPDX-License-Identifier: Apache-2.0

// Package selfruntime keeps prywalk's Go runtime from delaying stops: no garbage collection while a thread can be
// stopped, a slower sysmon. It measures prywalk's CPU time.
package selfruntime
