package history

// FirstHalf is what is judged of a history that takes too long.
var FirstHalf = firstHalf
