// SPDX-License-Identifier: Apache-2.0

// Package pprofweb serves pprof's web pages for a profile to holders of a token.
package pprofweb
