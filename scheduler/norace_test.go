//go:build !race

package scheduler_test

// storms is the number of storms in TestChaos.
const storms = uint64(50)

// simulations is the number of simulations in TestSimulation.
const simulations = uint64(40)
