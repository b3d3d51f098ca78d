# Read what discreet publishes in R, with base R alone (3.5 or later).
#
#   source("discreet.R")
#   release <- read_release("wages.release.json")
#   model <- discreet_lm(wage ~ educ + female, release)
#   summary(model); coef(model); confint(model); vcov(model)
#
# `discreet_lm` computes least squares from sums with Gaussian or Laplace noise, among them those of `staged`, with the
# errors, tests and confidence sets of `discreet.fit`. Other fits (a penalty, robust errors, coefficients of one model)
# are computed by discreet and read from its output:
#
#   system("discreet fit wages.release.json --penalty bayes --json > fit.json")
#   model <- read_fit("fit.json")
#
# A digest is not checked here, and neither is the promise: run `discreet verify wages.release.json` for that.

# ---- JSON ------------------------------------------------------------------------------------------------------------

# Plain R values from the text of a JSON document: tables are named lists, arrays are lists, null is NULL.
.json <- function(text) {
  token <- paste0('"(?:[^"\\\\]++|\\\\.)*+"|-?[0-9][0-9.eE+-]*+|true|false|null|[\\[\\]{}:,]')
  found <- regmatches(text, gregexpr(token, text, perl = TRUE))[[1]]
  refuse <- function() stop("the text is not JSON", call. = FALSE)
  if (grepl("[^ \t\r\n]", gsub(token, "", text, perl = TRUE)) || !length(found)) refuse()
  at <- 0L
  take <- function(expected = NULL) {
    at <<- at + 1L
    one <- found[at]
    if (is.na(one) || !(is.null(expected) || one %in% expected)) refuse()
    one
  }
  ahead <- function() if (at < length(found)) found[at + 1L] else refuse()
  value <- function() {
    one <- take()
    first <- substr(one, 1, 1)
    if (first == "{") return(table())
    if (first == "[") return(array())
    if (first == '"') return(.json_text(one))
    if (one == "null") return(NULL)
    if (one %in% c("true", "false")) return(one == "true")
    number <- suppressWarnings(as.numeric(one))
    if (is.na(number)) refuse()
    number
  }
  members <- function(end, member) {
    if (ahead() == end) return(invisible(take()))
    repeat {
      member()
      if (take(c(",", end)) == end) break
    }
  }
  table <- function() {
    keys <- character()
    values <- list()
    members("}", function() {
      key <- .json_text(take())
      take(":")
      if (key %in% keys) stop("the JSON has the key ", dQuote(key, FALSE), " twice", call. = FALSE)
      keys <<- c(keys, key)
      values <<- c(values, list(value()))
    })
    structure(values, names = keys)
  }
  array <- function() {
    values <- list()
    members("]", function() values[[length(values) + 1L]] <<- list(value()))
    lapply(values, `[[`, 1L)
  }
  read <- value()
  if (at < length(found)) refuse()
  read
}

.json_text <- function(quoted) {
  if (substr(quoted, 1, 1) != '"') stop("the text is not JSON", call. = FALSE)
  inside <- substr(quoted, 2, nchar(quoted) - 1)
  if (!grepl("\\", inside, fixed = TRUE)) return(inside)
  escape <- "\\\\(?:u[0-9a-fA-F]{4}(?:\\\\u[dD][c-fC-F][0-9a-fA-F]{2})?|.)"
  where <- gregexpr(escape, inside, perl = TRUE)
  regmatches(inside, where) <- lapply(regmatches(inside, where), vapply, .json_escape, "")
  inside
}

.json_escape <- function(escape) {
  if (substr(escape, 2, 2) != "u") {
    plain <- c(b = "\b", f = "\f", n = "\n", r = "\r", t = "\t")
    letter <- substr(escape, 2, 2)
    return(if (letter %in% names(plain)) plain[[letter]] else letter)
  }
  units <- strtoi(substring(escape, seq(3, nchar(escape), 6), seq(6, nchar(escape), 6)), 16L)
  paired <- length(units) == 2 && units[1] >= 0xD800 && units[1] < 0xDC00
  intToUtf8(if (paired) 0x10000 + (units[1] - 0xD800) * 1024 + units[2] - 0xDC00 else units)
}

.read_json <- function(path) {
  if (!is.character(path) || length(path) != 1) stop("expected the path of a file, got ", class(path)[1], call. = FALSE)
  if (!file.exists(path)) stop("there is no file ", dQuote(path, FALSE), call. = FALSE)
  .json(paste(readLines(path, warn = FALSE, encoding = "UTF-8"), collapse = "\n"))
}

# ---- the release -----------------------------------------------------------------------------------------------------

.SCHEMA <- 1
.DESIGN_KEYS <- c("target", "intercept", "radius", "columns", "unit", "order")
# how cells were read (missing, missing_codes) no longer matters once they are summed
.COLUMN_KEYS <- c("bounds", "dtype", "levels", "reference", "missing", "missing_codes", "formula", "release", "found",
                  "within")
# `formula`, where it is given, is one that the command line takes
.refuse <- function(..., formula = NULL) {
  asked <- if (length(formula)) paste0(" --formula ", shQuote(formula, "sh"))
  stop(..., "; run `discreet fit RELEASE", asked, " --json > fit.json` and read it with read_fit(\"fit.json\")",
       call. = FALSE)
}

# A release as a list of class "discreet_release": its fields as in the file, and `matrix`, the noisy sums.
read_release <- function(path) {
  release <- .read_json(path)
  if (!identical(release$format, "discreet-release")) stop("the file holds no release of discreet", call. = FALSE)
  if (release$schema != .SCHEMA) {
    stop("the release has schema version ", release$schema, "; this file reads version ", .SCHEMA, call. = FALSE)
  }
  release$columns <- unlist(release$columns)
  if (release$kind == "moments") release$matrix <- .sums(release)
  structure(release, class = "discreet_release")
}

# Steps in one scaled unit of a product, finer where rows have weights.
.unit <- function(release) {
  bits <- release$noise$parameters$weight_bits
  4^release$noise$grid_bits * 2^(if (is.null(bits)) 0 else as.numeric(bits))
}

# The moment matrix of (1, x, y), scaled; NA where a sum was not released.
.sums <- function(release) {
  size <- length(release$columns)
  totals <- vapply(release$totals, function(total) if (is.null(total)) NA_real_ else as.numeric(total), 0)
  sums <- matrix(0, size, size, dimnames = list(release$columns, release$columns))
  # the upper triangle row by row is the lower triangle column by column
  listed <- lower.tri(sums, diag = TRUE)
  # products of two indicators of one factor are 0 and are not listed
  for (factor in release$noise$factors) {
    inside <- seq(factor[[1]] + 1, factor[[2]] + 1)
    listed[inside, inside] <- diag(TRUE, length(inside))
  }
  sums[listed] <- totals / .unit(release)
  sums[upper.tri(sums)] <- t(sums)[upper.tri(sums)]
  sums
}

# Standard deviation of the noise in each entry of the moment matrix.
.noise_sd <- function(release) {
  size <- length(release$columns)
  family <- release$noise$family
  block <- matrix("gram_off_diagonal", size, size)
  diag(block) <- "gram_diagonal"
  block[1, ] <- block[, 1] <- "sum_x"
  block[size, ] <- block[, size] <- "cross"
  block[1, size] <- block[size, 1] <- "sum_y"
  block[1, 1] <- "count"
  block[size, size] <- "target_square"
  sigma <- vapply(release$noise$sigma, as.numeric, 0)
  sd <- matrix(sigma[block], size, size) / .unit(release)
  if (family == "discrete-laplace") sd <- sd * sqrt(2)
  # of several curators: each number has the sum of so many shares of noise
  shares <- release$noise$parameters$shares
  if (!is.null(shares)) sd <- sd * sqrt(as.numeric(shares))
  # two indicators of one factor are never both 1: their product is 0 and has no noise
  for (factor in release$noise$factors) {
    inside <- seq(factor[[1]] + 1, factor[[2]] + 1)
    sd[inside, inside] <- diag(diag(sd)[inside], length(inside))
  }
  # the square of an indicator is its sum, with the same noise
  own <- .indicators(release)
  sd[cbind(own, own)] <- sd[1, own]
  sd
}

# Columns whose sum and square are one number with one noise.
.indicators <- function(release) {
  as.integer(unlist(lapply(release$noise$indicators, function(run) seq(run[[1]] + 1, run[[2]] + 1))))
}

# By declared column that is released: its released names, and how they are scaled.
.declared <- function(release) {
  design <- release$design
  unknown <- setdiff(names(design), .DESIGN_KEYS)
  if (length(unknown)) .refuse("the design declares ", unknown[1], ", which this file does not read")
  offered <- Filter(function(name) !identical(design$columns[[name]]$release, FALSE), unlist(design$order))
  claimed <- lapply(structure(offered, names = offered), function(name) {
    column <- design$columns[[name]]
    odd <- setdiff(names(column), .COLUMN_KEYS)
    product <- length(column$formula) && grepl(":", column$formula, fixed = TRUE)
    if (length(odd) || product || !all(vapply(column$bounds, is.numeric, TRUE))) {
      .refuse("this file does not read the declaration of ", dQuote(name, FALSE))
    }
    ends <- unlist(column$bounds)
    own <- if (name %in% release$columns) name else {
      among <- setdiff(release$columns, offered)
      among[startsWith(among, paste0(name, "["))]
    }
    list(
      released = own,
      half = rep(if (length(ends)) (ends[2] - ends[1]) / 2 else 1, length(own)),
      mid = rep(if (length(ends)) ends[1] + (ends[2] - ends[1]) / 2 else 0, length(own))
    )
  })
  named <- unlist(lapply(claimed, `[[`, "released"))
  if (anyDuplicated(named) || !setequal(named, release$columns[-1])) {
    .refuse("the released columns are not those of the design")
  }
  claimed
}

print.discreet_release <- function(x, ...) {
  cat("Release of ", paste(x$columns[-1], collapse = ", "), "\n", .promise(x), "\n", sep = "")
  invisible(x)
}

.promise <- function(release) {
  promise <- release$guarantee
  if (is.null(promise)) return("NOT PRIVATE: this release carries no privacy guarantee.")
  sprintf("epsilon = %g, delta = %g, neighbours: %s; mechanism: %s", promise$epsilon, promise$delta,
          promise$unit$neighbours, release$mechanism$name)
}

# ---- exact enough linear algebra -------------------------------------------------------------------------------------

# Numbers with about twice the digits of a double, as the list of a double and of what it lacks [Dekker 1971].

.product <- function(a, b) {
  halves <- function(a) {
    high <- a * 134217729
    high <- high - (high - a)
    list(high, a - high)
  }
  x <- halves(a)
  y <- halves(b)
  high <- a * b
  list(high, x[[2]] * y[[2]] - (((high - x[[1]] * y[[1]]) - x[[2]] * y[[1]]) - x[[1]] * y[[2]]))
}

.sum <- function(x, y) {
  high <- x[[1]] + y[[1]]
  part <- high - x[[1]]
  low <- ((x[[1]] - (high - part)) + (y[[1]] - part)) + (x[[2]] + y[[2]])
  total <- high + low
  list(total, low - (total - high))
}

# b - (A + more) (x + rest), row by row; `more` is what the doubles A lack.
.residual <- function(A, x, rest, b, more = 0 * A) {
  total <- list(b, 0 * b)
  for (j in seq_along(x)) {
    product <- .product(-A[, j], x[j])
    total <- .sum(total, list(product[[1]], product[[2]] - A[, j] * rest[j] - more[, j] * x[j]))
  }
  total[[1]] + total[[2]]
}

# Solves A x = b for each column of b, with corrections; NULL if A is not positive definite. `more` and `more_b` are
# what the doubles A and B lack.
.solve_definite <- function(A, B, more = 0 * A, more_b = 0 * B) {
  undecided <- function() .refuse("the released sums are too close to singular for double precision")
  if (any(diag(A) <= 0)) return(NULL)
  scale <- 1 / sqrt(diag(A))
  unit <- A * outer(scale, scale)
  root <- tryCatch(chol(unit), error = function(failed) NULL)
  if (is.null(root)) {
    if (min(eigen(unit, TRUE, TRUE)$values) < -2^-40) return(NULL)
    undecided()
  }
  if (min(diag(root))^2 < nrow(A) * 2^-40) undecided()
  once <- function(b) scale * backsolve(root, backsolve(root, scale * b, transpose = TRUE))
  X <- rest <- matrix(0, nrow(A), ncol(B))
  for (column in seq_len(ncol(B))) {
    for (pass in 1:6) {
      left <- .residual(A, X[, column], rest[, column], B[, column], more) + more_b[, column]
      step <- once(left) + rest[, column]
      moved <- X[, column] + step
      rest[, column] <- step - (moved - X[, column])
      X[, column] <- moved
    }
  }
  list(value = X, rest = rest)
}

.forms <- function(L, M) rowSums((L %*% M) * L)

# The noise F of a release: V has the variances of its entries, which are independent, but for indicators j, where the
# first entry and the one on the diagonal of column j are the same; `shared` is their covariance, 0 for other columns.
# With a `mapping` T it is T F T', where F has independent entries between columns of (1, z), `entries`, the covariance
# `scores` between these columns and r, and the standard deviation `square` of r^2. The error of the weights is added as
# noise with Cov(w'F s, w'F t) = (w'D w) (s'D t), D = `weights`.

# Covariance of F t.
.product_covariance <- function(F, t) {
  if (!is.null(F$mapping)) return(.mapped_product_covariance(F, t))
  out <- F$V * outer(t, t)
  diag(out) <- drop(F$V %*% t^2) + 2 * F$shared * t[1] * t
  out[1, ] <- out[1, ] + F$shared * t^2
  out[, 1] <- out[, 1] + F$shared * t^2
  out
}

# Cov(w'F s, w'F t) for each row of three matrices.
.form_covariance <- function(F, W, S, T) {
  if (!is.null(F$mapping)) return(.mapped_form_covariance(F, W %*% F$mapping, S %*% F$mapping, T %*% F$mapping))
  off <- F$V - diag(diag(F$V), nrow(F$V))
  both <- W * (2 * W[, 1] * S * T + W * (S[, 1] * T + S * T[, 1]))
  rowSums(W^2 * ((S * T) %*% F$V)) + rowSums(((W * S) %*% off) * (W * T)) + drop(both %*% F$shared)
}

# Cov(s'F s, t'F t).
.square_covariance <- function(F, s, t) {
  if (!is.null(F$mapping)) return(.mapped_square_covariance(F, drop(s %*% F$mapping), drop(t %*% F$mapping)))
  r <- s * t
  2 * sum(r * (F$V %*% r)) - sum(diag(F$V) * r^2) + 2 * sum(F$shared * r * (s[1] * t + s * t[1]))
}

.mapped_product_covariance <- function(F, t) {
  t <- drop(t %*% F$mapping)
  last <- length(t)
  z <- t[-last]
  toward <- drop(F$scores %*% z)
  out <- matrix(0, last, last)
  out[-last, -last] <- .product_covariance(F$entries, z) + t[last]^2 * F$scores + sum(z * (F$weights %*% z)) * F$weights
  out[-last, last] <- out[last, -last] <- t[last] * toward
  out[last, last] <- sum(z * toward) + (t[last] * F$square)^2
  F$mapping %*% out %*% t(F$mapping)
}

.mapped_form_covariance <- function(F, W, S, T) {
  last <- ncol(W)
  z <- function(rows) rows[, -last, drop = FALSE]
  s <- S[, last] * z(W) + W[, last] * z(S)
  t <- T[, last] * z(W) + W[, last] * z(T)
  .form_covariance(F$entries, z(W), z(S), z(T)) + rowSums((s %*% F$scores) * t) +
    W[, last]^2 * S[, last] * T[, last] * F$square^2 +
    rowSums((z(W) %*% F$weights) * z(W)) * rowSums((z(S) %*% F$weights) * z(T))
}

.mapped_square_covariance <- function(F, s, t) {
  last <- length(s)
  both <- s[last] * t[last]
  .square_covariance(F$entries, s[-last], t[-last]) + 4 * both * sum(s[-last] * (F$scores %*% t[-last])) +
    (both * F$square)^2 + sum(s[-last] * (F$weights %*% t[-last]))^2
}

# ---- the sums of `staged`: see docs/reference/release-file.md and src/discreet/releases/staged_rules.py --------------

# shares of mu^2 of what is released before the sums; those that a release has are blocks of its noise
.SHARES <- c(rows = 0.005, centre = 0.035, spread = 0.012, zoomed_centre = 0.02, zoomed_spread = 0.012, size = 0.02,
             target_median = 0.01, row_norms = 0.015, pilot_bound = 0.01, first_pilot = 0.04, second_pilot = 0.06,
             score_norms = 0.04)

.block_sd <- function(release, block) as.numeric(release$noise$sigma[[block]]) / .unit(release)

# The part `staged` in vectors, with V as a matrix and the places of (1, z) at which a factor or a column of its own
# begins.
.staged_part <- function(release) {
  part <- lapply(release$staged[names(release$staged) != "whitening"], unlist)
  size <- length(part$line)
  V <- matrix(0, size, size)
  for (row in seq_len(size)) V[row, seq_len(row)] <- unlist(release$staged$whitening[[row]])
  later <- unlist(lapply(release$noise$factors, function(factor) seq(factor[[1]] + 2, factor[[2]] + 1)))
  part$group <- cumsum(!seq_len(size) %in% later)
  part$whitening <- V
  part$score_norms <- as.numeric(part$score_norms) / .unit(release)
  part$share <- part$radius^2 * (1 + part$missing)
  part
}

# A bound of the norm of every score: at most one level of a factor is not 0.
.largest_score <- function(release, declared, part) {
  design <- release$design
  signed <- function(name) !is.null(design$columns[[name]]$bounds)
  low <- unlist(lapply(setdiff(names(declared), design$target), function(name) {
    rep(if (signed(name)) -1 else 0, length(declared[[name]]$released))
  }))
  low <- c(1, (low - part$centres) / part$scales)
  high <- c(1, (1 - part$centres) / part$scales)
  by_group <- function(values, rule) vapply(split(values, part$group), rule, 0)
  target <- c(if (signed(design$target)) -1 else 0, 1) - part$target_centre
  least <- sum(by_group(pmin(part$line * low, part$line * high), min))
  most <- sum(by_group(pmax(part$line * low, part$line * high), max))
  residual <- max(target[2] - least, most - target[1])
  squares <- pmax(low^2, high^2)
  form <- crossprod(part$whitening)
  corners <- list(low, high)
  terms <- do.call(pmax, unlist(lapply(corners, function(one) {
    lapply(corners, function(other) as.vector(form * outer(one, other)))
  }), recursive = FALSE))
  rows <- part$group[row(form)]
  columns <- part$group[col(form)]
  largest <- tapply(terms, list(rows, columns), max)
  diag(largest) <- by_group(diag(form) * squares, max)
  spectral <- sqrt(sum(by_group(squares, max))) * norm(part$whitening, "2")
  max(min(spectral, sqrt(sum(largest))) * (1 + 2^-40) * residual, 2^-40)
}

# The bound of the scores, and what the model of their tail says about it: a log-normal one, from two quantiles.
.score_bound <- function(release, declared, part, rows) {
  rows <- max(rows, 20)
  size <- length(part$line)
  sd <- .block_sd(release, "cross")
  largest <- .largest_score(release, declared, part)
  edges <- largest * 2^((0:40 - 40) / 2)
  beyond <- c(rev(cumsum(rev(part$score_norms))), 0)
  noise <- .block_sd(release, "score_norms")
  log_quantile <- function(tail) {
    falling <- cummin(beyond)
    place <- match(TRUE, falling <= tail * rows, nomatch = length(falling))
    if (place == 1) return(log(edges[1]))
    above <- falling[place - 1]
    below <- falling[place]
    inside <- if (above > below) min(max((above - tail * rows) / (above - below), 0), 1) else 1
    log(edges[place - 1]) + inside * (log(edges[place]) - log(edges[place - 1]))
  }
  found <- which(beyond[1:40] > 4 * noise * sqrt(40:1))
  surely <- if (length(found)) edges[max(found) + 1] else 0
  robust <- "score_diagonal" %in% names(release$noise$sigma)
  earlier <- sum(.SHARES[names(.SHARES) %in% names(release$noise$sigma)])
  share <- 1 - (if (size > 12) 0.4 else 0.25) - 0.03 - (if (robust) 0.1 else 0) - earlier
  mu <- 1 / (sd * sqrt(share))
  tail <- min(max(0.01, 3 * noise * sqrt(8) / rows), 1 / 8)
  at <- stats::qnorm(tail, lower.tail = FALSE)
  spread <- (log_quantile(tail) - log_quantile(4 * tail)) / (at - stats::qnorm(4 * tail, lower.tail = FALSE))
  slope <- min(max(spread, 0.3), 1.5)
  outside <- max(2 / mu, 0.05 * sqrt(rows))
  z <- stats::qnorm(min(outside / rows, tail), lower.tail = FALSE)
  quantile <- max(exp(log_quantile(tail) + slope * max(z - at, 0)), surely)
  shape <- min(max(slope / max(z, 0.5), 0.05), 0.75)
  sigma <- exp(log_quantile(0.32)) / sqrt(size)
  least <- max(quantile, 0.4 * sigma * sqrt(rows) / sd)
  # a rare outcome of a boolean target has residuals near 1 in rows that may be too few for the histogram
  if (is.null(release$design$columns[[release$design$target]]$bounds) && sigma < 0.3) least <- max(least, 2 * sqrt(size))
  bound <- least * 2^((0:12) / 4)
  clipped <- ifelse(bound >= largest, 0, outside * (bound / quantile)^(-1 / shape))
  bound <- pmin(bound, largest)
  lost <- clipped * bound * shape / (1 - shape)
  chosen <- which.min((bound * sd)^2 + lost^2)
  list(bound = bound[chosen], lost = lost[chosen], clipped = clipped[chosen], sigma = sigma)
}

# Sums of products of (1, z, y - centre) at the places `at`, their noise, and how the columns are centred and scaled.
.staged_sums <- function(release, declared, at) {
  part <- .staged_part(release)
  size <- length(part$line)
  inside <- seq_len(size)
  choice <- .score_bound(release, declared, part, .rows(release)$value)
  if (abs(choice$bound / part$score_bound - 1) > 1e-6) {
    stop("staged.score_bound is not that of the other released numbers; run `discreet verify RELEASE`", call. = FALSE)
  }
  gram <- release$matrix[inside, inside] * part$share
  back <- forwardsolve(part$whitening, diag(size))
  scores <- drop(back %*% release$matrix[inside, size + 1]) * part$score_bound
  # y - centre = r + (1, z)'line
  nothing <- numeric(size)
  along <- -.residual(gram, part$line, nothing, -scores)
  square <- release$matrix[size + 1, size + 1] * part$residual_bound^2
  square <- -.residual(matrix(c(part$line, part$line), 1), c(scores, along), c(nothing, nothing), -square)
  sums <- rbind(cbind(gram, along), c(along, square))
  mapping <- rbind(cbind(diag(size), 0), c(part$line, 1))[at, , drop = FALSE]
  parts <- eigen((gram + t(gram)) / 2, TRUE)
  positive <- parts$vectors %*% (pmax(parts$values, 0) * t(parts$vectors))
  noise <- (part$score_bound * .block_sd(release, "cross"))^2
  squares <- release$matrix[size + 1, size + 1] - 2 * .block_sd(release, "target_square")
  rows <- max(20, .rows(release)$value)
  F <- list(
    mapping = mapping, entries = list(V = (.noise_sd(release)[inside, inside] * part$share)^2, shared = nothing),
    scores = (noise + choice$lost^2) * tcrossprod(back), weights = positive * (part$missing / sqrt(size)),
    square = part$residual_bound^2 * .block_sd(release, "target_square"), noisy = TRUE
  )
  list(
    sums = sums[at, at], F = F, centre = c(0, part$centres, part$target_centre)[at], scale = c(1, part$scales, 1)[at],
    prior = if (at[length(at)] == size + 1) max(choice$sigma^2, squares * part$residual_bound^2 / rows), clipped = ceiling(choice$clipped),
    allowed = choice$lost^2 / (noise + choice$lost^2)
  )
}

# Says what is estimated, and how much the rows that were shortened add to the standard errors.
.estimated <- function(equations, score = NULL) {
  line <- "Ordinary least squares on the table clipped to its bounds"
  rows <- equations$clipped
  if (rows == 0) return(paste0(line, "; the score of no row was shortened."))
  line <- sprintf("%s; at most about %s row%s with the largest scores were shortened", line,
                  formatC(rows, format = "d", big.mark = ","), if (rows > 1) "s" else "")
  if (is.null(score)) return(paste0(line, "."))
  F <- equations$F
  F$entries$V[] <- F$weights[] <- F$square <- 0
  F$scores <- equations$allowed * F$scores
  gains <- score$H %*% score$R
  added <- diag(gains %*% .product_covariance(F, score$contrast) %*% t(gains))
  total <- diag(score$covariance)
  added <- 1 / sqrt(1 - min(max(ifelse(total > 0, added / total, 0), 0), 0.99)) - 1
  words <- if (added > 0.005) sprintf("up to %d%%", ceiling(100 * added)) else "less than 1%"
  sprintf("%s, which adds %s to the standard errors.", line, words)
}

# ---- the model -------------------------------------------------------------------------------------------------------

# Least squares from a release: like lm(formula, data). Names are those declared, a categorical name means all its
# levels, `- 1` leaves the intercept out, and without a formula the model is the one of the design.
discreet_lm <- function(formula = NULL, data) {
  if (inherits(formula, "discreet_release") && missing(data)) {
    data <- formula
    formula <- NULL
  }
  if (missing(data) || !inherits(data, "discreet_release")) {
    stop("data: expected a release; read one with read_release(path)", call. = FALSE)
  }
  .check_readable(data)
  declared <- .declared(data)
  model <- .model(formula, data, declared)
  equations <- .equations(data, declared, model)
  fit <- c(
    list(call = match.call(), target = model$target, promise = .promise(data), estimable = FALSE),
    equations[c("names", "nobs", "nobs_sd", "family")],
    list(df.residual = equations$nobs - length(equations$names))
  )
  if (!is.null(equations$clipped)) fit$estimated <- .estimated(equations)
  if (length(data$residuals) || length(data$staged$score_products)) fit$plain <- .PLAIN
  nothing <- function(reason, level_sets = "everything") {
    fit$reason <- reason
    .known(fit, NULL, level_sets)
  }
  solved <- .solve_definite(equations$A, cbind(equations$b), equations$more_A, cbind(equations$more_b))
  if (is.null(solved)) return(nothing("the released sums are not positive definite: the noise outweighs the signal"))
  theta <- solved$value[, 1]
  fit$estimable <- TRUE
  fit$coefficients <- structure(drop(equations$base + equations$map %*% theta), names = equations$names)
  if (is.na(equations$c)) return(nothing("the release holds no sum of squares of the target", NA))
  if (is.na(equations$nobs)) return(nothing("the release holds no number of rows", NA))
  if (fit$df.residual <= 0) return(nothing("there are not more rows than coefficients"))
  score <- .inference(equations, theta, solved$rest[, 1])
  if (!is.null(equations$clipped)) fit$estimated <- .estimated(equations, score)
  .known(fit, score)
}

.PLAIN <- paste("The release has robust standard errors. Those above are plain: run",
                "`discreet fit RELEASE --robust --json > fit.json` and read it with read_fit(\"fit.json\").")

.check_readable <- function(release) {
  if (release$kind != "moments") .refuse("the release holds the coefficients of one model and no sums")
  if (!is.null(release$design$weights)) .refuse("the rows of the release have weights")
  if (!release$noise$family %in% c("discrete-gaussian", "discrete-laplace")) {
    .refuse("the noise is of the family ", release$noise$family, ", which this file does not read")
  }
}

.model <- function(formula, release, declared) {
  design <- release$design
  offered <- names(declared)
  if (is.null(formula)) {
    target <- design$target
    features <- setdiff(offered, target)
    intercept <- isTRUE(design$intercept)
  } else {
    if (!inherits(formula, "formula") || length(formula) != 3) {
      stop("formula: expected one such as y ~ x, got ", paste(deparse(formula), collapse = " "), call. = FALSE)
    }
    target <- if (is.name(formula[[2]])) as.character(formula[[2]]) else paste(deparse(formula[[2]]), collapse = " ")
    empty <- as.data.frame(rep(list(numeric()), length(offered)), col.names = offered, optional = TRUE)
    names(empty) <- offered
    terms <- stats::terms(formula, data = empty)
    features <- gsub("^`|`$", "", attr(terms, "term.labels"))
    intercept <- attr(terms, "intercept") == 1
  }
  for (name in c(target, features)) {
    if (!name %in% offered) {
      known <- paste(offered, collapse = ", ")
      stop("the release has no column ", dQuote(name, FALSE), "; declared are ", known, call. = FALSE)
    }
  }
  if (!target %in% release$columns) stop("the target ", dQuote(target, FALSE), " is not a number", call. = FALSE)
  if (!intercept && !length(features)) stop("the model has neither features nor an intercept", call. = FALSE)
  if (intercept && !is.null(release$residuals) && isTRUE(design$unit$max_rows > 1)) {
    # places of the model's columns, counted from 0: the full model's, or those of one declared for robust errors
    slopes <- unlist(lapply(declared[features], `[[`, "released"), use.names = FALSE)
    places <- c(sort(match(slopes, release$columns)), match(target, release$columns)) - 1
    held <- c(list(seq_len(length(release$columns) - 1)), lapply(release$noise$models, unlist))
    if (any(vapply(held, function(one) length(one) == length(places) && all(one == places), NA))) {
      quoted <- function(name) if (grepl("^[[:alpha:]]\\w*$", name)) name else paste0("`", name, "`")
      asked <- paste(vapply(features, quoted, ""), collapse = " + ")
      .refuse("the errors of this model are clustered by person",
              formula = paste(quoted(target), "~", if (length(features)) asked else "1"))
    }
  }
  list(target = target, features = features, intercept = intercept)
}

# Sums of products of the regressors z and the target, the noise in the sums behind them, and the way to original units.
.equations <- function(release, declared, model) {
  slopes <- unlist(lapply(declared[model$features], `[[`, "released"), use.names = FALSE)
  columns <- declared[c(model$features, model$target)]
  half <- unlist(lapply(columns, `[[`, "half"), use.names = FALSE)
  mid <- unlist(lapply(columns, `[[`, "mid"), use.names = FALSE)
  at <- match(c("1", slopes, model$target), release$columns)
  found <- if (is.null(release$staged)) .plain_sums(release, at) else .staged_sums(release, declared, at)
  sums <- found$sums
  mid <- mid + half * found$centre[-1]
  half <- half * found$scale[-1]
  size <- length(at)
  rows <- .rows(release)
  # without intercept the line goes through the origin of the original units: the middles are put back
  shift <- if (model$intercept) 0 * mid else mid / half
  C <- if (model$intercept) diag(size) else cbind(shift, diag(size - 1))
  used <- sums
  if (!model$intercept && !any(shift != 0)) used[1, ] <- used[, 1] <- 0
  lacking <- is.na(used)
  used[lacking] <- 0
  moved <- if (model$intercept) list(used, 0 * used) else .moved(used, shift)
  used <- moved[[1]]
  more <- moved[[2]]
  used[abs(C) %*% lacking %*% t(abs(C)) > 0] <- NA
  last <- nrow(used)
  inside <- seq_len(last - 1)
  if (anyNA(used[inside, ])) stop("the release holds not all sums that this model needs", call. = FALSE)
  half_y <- half[length(half)]
  by <- half_y / half[-length(half)]
  map <- diag(c(if (model$intercept) half_y, by), last - 1)
  base <- numeric(last - 1)
  if (model$intercept) {
    map[1, -1] <- -by * mid[-length(mid)]
    base[1] <- mid[length(mid)]
  }
  list(
    names = c(if (model$intercept) "Intercept", slopes), intercept = model$intercept, shift = shift[length(shift)],
    A = used[inside, inside, drop = FALSE], b = used[inside, last], c = used[last, last], C = C, F = found$F,
    more_A = more[inside, inside, drop = FALSE], more_b = more[inside, last], more_c = more[last, last],
    nobs = rows$value, nobs_sd = rows$sd, map = map, base = base, half_y = half_y,
    family = if (release$noise$family == "discrete-laplace") "laplace" else "gaussian",
    prior = found$prior, clipped = found$clipped, allowed = found$allowed
  )
}

# Sums of products of (x + shift), from those of (1, x): small differences of large numbers, so with twice the digits.
.moved <- function(sums, shift) {
  by <- matrix(shift, length(shift), length(shift))
  along <- .product(by, matrix(sums[1, -1], length(shift), length(shift), byrow = TRUE))
  square <- .product(by, t(by))
  twice <- .product(square[[1]], sums[1, 1] + 0 * by)
  twice[[2]] <- twice[[2]] + square[[2]] * sums[1, 1]
  .sum(.sum(list(sums[-1, -1], 0 * by), .sum(along, lapply(along, t))), twice)
}

# Sums of products of columns as they are scaled by their bounds, and their noise.
.plain_sums <- function(release, at) {
  sd <- .noise_sd(release)[at, at, drop = FALSE]
  sd[is.na(sd)] <- 0
  shared <- ifelse(at %in% .indicators(release), sd[1, ]^2, 0)
  list(
    sums = release$matrix[at, at, drop = FALSE], F = list(V = sd^2, shared = shared, noisy = any(sd > 0)),
    centre = numeric(length(at)), scale = rep(1, length(at))
  )
}

# The number of rows and the standard deviation of its noise, which is 0 where the number is public.
.rows <- function(release) {
  if (is.null(release$staged)) return(list(value = release$matrix[1, 1], sd = .noise_sd(release)[1, 1]))
  counted <- release$scalars$rows
  if (is.null(counted)) return(list(value = as.numeric(release$units_public), sd = 0))
  list(value = as.numeric(counted) / .unit(release), sd = .block_sd(release, "rows"))
}

# ---- errors: see src/discreet/analyst/inference for the derivations --------------------------------------------------

# The score's covariance at the estimate: s^2 A + the covariance of what the noise adds, in scaled units.
.inference <- function(equations, theta, rest) {
  A <- equations$A
  k <- length(theta)
  solved <- .solve_definite(A, diag(k), equations$more_A)$value
  H <- (solved + t(solved)) / 2
  C <- equations$C
  contrast <- drop(t(C) %*% c(-theta, 1))
  R <- C[seq_len(k), , drop = FALSE]
  noise <- R %*% .product_covariance(equations$F, contrast) %*% t(R)
  followed <- H %*% noise
  residual <- .residual(matrix(equations$b, 1), theta, rest, equations$c, matrix(equations$more_b, 1)) +
    equations$more_c + sum(H * noise)
  rows <- equations$nobs - k
  total <- equations$c - if (equations$intercept) equations$b[1]^2 / A[1, 1] else 0
  s2 <- max(min(residual, total) / rows, 0)
  if (!is.null(equations$prior)) {
    residual_noise <- .square_covariance(equations$F, contrast, contrast) + 2 * sum(followed * t(followed)) +
      4 * s2 * sum(diag(followed))
    s2 <- .towards(equations$prior, residual, residual_noise, rows)
  }
  score <- list(
    k = k, F = equations$F, R = R, contrast = contrast, H = H, df = rows, s2 = residual / rows, total = total,
    sampling = s2 * H, privacy = H %*% noise %*% H, equations = equations
  )
  score$covariance <- score$sampling + score$privacy
  # no square is taken in original units
  score$scale <- apply(abs(equations$map), 1, max)
  score$L <- equations$map / score$scale
  score$terms <- .terms(score)
  score$beside <- lapply(seq_len(k), function(row) .nuisance(score, row))
  score$kappa <- vapply(score$beside, .kappa, 0)
  score
}

# A residual variance that is closer to the estimate `prior` the noisier it is, raised by half its remaining noise.
.towards <- function(prior, residual, noise, rows) {
  square <- noise / rows^2
  kept <- if (prior > 0) prior^2 / (prior^2 + square) else 1
  max(kept * residual / rows + (1 - kept) * prior + sqrt(kept * square) / 2, 0.09 * prior)
}

# q0, q1 and q2 of the variance along each combination.
.terms <- function(score) {
  L <- score$L
  toward <- L %*% score$covariance
  total <- rowSums(toward * L)
  v <- toward / ifelse(total > 0, total, Inf)
  W <- L %*% score$H %*% score$R
  along <- v %*% score$R
  here <- matrix(score$contrast, nrow(L), length(score$contrast), byrow = TRUE)
  privacy <- pmax(.forms(L, score$privacy), 0)
  sampling <- .forms(L, score$sampling)
  list(
    sampling = sampling, privacy = privacy, q0 = sampling + privacy, v = v,
    q1 = -.form_covariance(score$F, W, here, along), q2 = .form_covariance(score$F, W, along, along)
  )
}

# What is open about the coefficients beside one combination.
.nuisance <- function(score, row) {
  l <- score$L[row, ]
  sigma2 <- sum(l * (score$covariance %*% l))
  free <- score$k - 1
  if (!(score$F$noisy && free > 0 && sigma2 > 0)) {
    return(list(sigma = sqrt(max(sigma2, 0)), growth = numeric(free), here = numeric(free), along = numeric(free)))
  }
  w <- drop(l %*% score$H %*% score$R)
  form <- .product_covariance(score$F, w)
  parts <- eigen(score$covariance, TRUE)
  root <- parts$vectors %*% diag(sqrt(pmax(parts$values, 0)), score$k)
  open <- qr.Q(qr(t(l %*% root)), complete = TRUE)[, -1, drop = FALSE]
  steps <- -t(root %*% open) %*% score$R
  grown <- eigen(steps %*% form %*% t(steps) / sigma2, TRUE)
  steps <- t(grown$vectors) %*% steps
  list(
    sigma = sqrt(sigma2), growth = pmax(grown$values, 0), here = drop(steps %*% form %*% score$contrast) / sigma2,
    along = -drop(steps %*% form %*% (t(score$R) %*% score$terms$v[row, ])) / sigma2
  )
}

.kappa <- function(beside) {
  if (!any(beside$growth > 0)) return(Inf)
  largest <- max(eigen(diag(beside$growth, length(beside$growth)) - outer(beside$here, beside$here), TRUE, TRUE)$values)
  if (largest > 0) 1 / largest else Inf
}

# Smallest squared critical value at which a combination u above its estimate is kept.
.statistic <- function(beside, u, variance) {
  if (!any(beside$growth > 0)) return(u^2 / variance)
  arrow <- diag(c(variance, u^2 * beside$growth))
  arrow[1, -1] <- arrow[-1, 1] <- beside$sigma * abs(u) * (beside$here + u * beside$along)
  u^2 / max(eigen(arrow, TRUE, TRUE)$values)
}

# What the open step adds to q0, q1 and q2.
.widened <- function(beside, square) {
  if (!any(beside$growth > 0)) return(c(0, 0, 0))
  left <- 1 - square * beside$growth
  if (!is.finite(square) || any(left <= 0)) return(c(0, 0, Inf))
  weights <- square * beside$sigma^2 / left
  c(sum(weights * beside$here^2), sum(weights * beside$here * beside$along), sum(weights * beside$along^2))
}

# ---- reference laws --------------------------------------------------------------------------------------------------

.critical <- function(level, family, df) {
  student <- -stats::qt((1 - level) / 2, df)
  if (family == "laplace") max(student, -log1p(-level) / sqrt(2)) else student
}

.tail <- function(statistic, family, df) {
  student <- 2 * stats::pt(-abs(statistic), df)
  if (family == "laplace") max(student, exp(-sqrt(2) * abs(statistic))) else student
}

# Nodes and weights of Gauss and Legendre for 80 points, from the eigenvalues of a tridiagonal matrix.
.gauss <- local({
  i <- seq_len(79)
  beside <- i / sqrt(4 * i^2 - 1)
  jacobi <- matrix(0, 80, 80)
  jacobi[cbind(i, i + 1)] <- jacobi[cbind(i + 1, i)] <- beside
  parts <- eigen(jacobi, TRUE)
  list(shares = (parts$values + 1) / 2, weights = 2 * parts$vectors[1, ]^2)
})

# Integral from x on of the law of a statistic given kappa, over exp(-x/2).
.integral <- function(x, kappa) {
  far <- min(1, (x + 104) / kappa)
  low <- asin(sqrt(x / kappa))
  high <- asin(sqrt(far))
  phi <- low + (high - low) * .gauss$shares
  y <- kappa * sin(phi)^2
  (high - low) / 2 * sum(.gauss$weights * exp((x - y) / 2) * cos(phi)^2)
}

# P-value given kappa, from the one that holds where the other coefficients are known.
.tail_given <- function(p, kappa) {
  if (kappa == Inf || p <= 0) return(p)
  x <- stats::qchisq(p, 1, lower.tail = FALSE)
  if (x >= kappa) 0 else exp(-x / 2) * .integral(max(x, 0), kappa) / .integral(0, kappa)
}

# The level for known coefficients that is alpha given kappa.
.level_given <- function(alpha, kappa) {
  if (kappa == Inf) return(alpha)
  beyond <- alpha * .integral(0, kappa)
  excess <- function(root) exp(-root^2 / 2) * .integral(root^2, kappa) - beyond
  high <- sqrt(min(kappa, stats::qchisq(alpha, 1, lower.tail = FALSE)))
  if (excess(high) < 0) high <- stats::uniroot(excess, c(0, high), tol = 1e-15, maxiter = 200)$root
  max(alpha, stats::pchisq(high^2, 1, lower.tail = FALSE))
}

# ---- what is known of a fit ------------------------------------------------------------------------------------------

# Completes a fit with its errors, or with what is left where there are none: `without` is the kind of every set.
.known <- function(fit, score, without = NA) {
  names <- fit$names
  none <- structure(rep(NA_real_, length(names)), names = names)
  if (is.null(fit$coefficients)) fit$coefficients <- none
  fit$std_error <- fit$t <- fit$privacy_share <- fit$p <- none
  fit$sigma <- fit$r.squared <- fit$adj.r.squared <- NA_real_
  if (is.null(score)) {
    if (identical(without, "everything")) fit$p[] <- 1
    fit$sets <- function(level) .set_frame(names, rep(without, length(names)), -Inf, Inf)
    return(structure(fit, class = "discreet_lm"))
  }
  varies <- ifelse(score$terms$q0 > 0, 1, NA)
  keep <- function(values) structure(values * varies, names = names)
  sd <- sqrt(score$terms$q0)
  fit$std_error <- keep(sd * score$scale)
  fit$privacy_share <- keep(score$terms$privacy / score$terms$q0)
  fit$t <- keep(fit$coefficients / score$scale / sd)
  fit$p <- keep(.p_values(score, fit$coefficients, fit$family))
  fit$covariance <- score$L %*% score$covariance %*% t(score$L) * outer(score$scale, score$scale)
  dimnames(fit$covariance) <- list(names, names)
  if (score$s2 > 0 || !score$F$noisy) fit$sigma <- sqrt(max(score$s2, 0)) * score$equations$half_y
  fit[c("r.squared", "adj.r.squared")] <- .r_squared(score, fit$family)
  fit$sets <- function(level) .fieller(score, fit$coefficients, fit$family, level, names)
  structure(fit, class = "discreet_lm")
}

.p_values <- function(score, estimates, family) {
  vapply(seq_along(estimates), function(j) {
    u <- -estimates[[j]] / score$scale[j]
    variance <- max(score$terms$q0[j] + 2 * score$terms$q1[j] * u + score$terms$q2[j] * u^2, 0)
    square <- if (u != 0 && variance > 0) .statistic(score$beside[[j]], u, variance) else 0
    .tail_given(.tail(sqrt(square), family, score$df), score$kappa[j])
  }, 0)
}

# Confidence sets: solutions of lead u^2 - 2 middle u - rest <= 0, moved to the estimates.
.fieller <- function(score, estimates, family, level, names) {
  # the level of the critical value, as rounding leaves it
  alpha <- .tail(.critical(level, family, score$df), family, score$df)
  rows <- lapply(seq_along(estimates), function(j) {
    z2 <- .critical(1 - .level_given(alpha, score$kappa[j]), family, score$df)^2
    more <- .widened(score$beside[[j]], z2)
    lead <- 1 - z2 * (score$terms$q2[j] + more[3])
    middle <- z2 * (score$terms$q1[j] + more[2])
    rest <- z2 * (score$terms$q0[j] + more[1])
    if (!(score$terms$q0[j] > 0)) return(list(NA_character_, -Inf, Inf))
    square <- middle^2 + lead * rest
    ends <- c(-Inf, Inf)
    kind <- "everything"
    if (isTRUE(lead > 0 || (lead < 0 && square > 0)) && is.finite(lead)) {
      far <- middle + (if (middle < 0) -1 else 1) * sqrt(square)
      ends <- sort(c(far / lead, if (far == 0) 0 else -rest / far))
      kind <- if (lead > 0) "interval" else "outside"
    } else if (isTRUE(lead == 0 && middle != 0)) {
      kind <- if (middle > 0) "above" else "below"
      ends[if (middle > 0) 1 else 2] <- -rest / (2 * middle)
    }
    ends <- estimates[[j]] + score$scale[j] * ends
    if (kind == "outside" && !all(is.finite(ends))) kind <- "everything"
    list(kind, ends[1], ends[2])
  })
  .set_frame(names, vapply(rows, `[[`, "", 1), vapply(rows, `[[`, 0, 2), vapply(rows, `[[`, 0, 3))
}

.set_frame <- function(names, kind, lower, upper) {
  data.frame(kind = as.character(kind), lower = lower, upper = upper, row.names = names, stringsAsFactors = FALSE)
}

# R^2 and adjusted R^2, NA where the noise outweighs the variance of the target or of the residuals.
.r_squared <- function(score, family) {
  equations <- score$equations
  around <- c(numeric(ncol(equations$C) - 1), 1)
  followed <- 0
  if (equations$intercept) {
    around[1] <- -equations$b[1] / equations$A[1, 1]
    followed <- .product_covariance(score$F, around)[1, 1] / equations$A[1, 1]
  } else {
    around[1] <- equations$shift
  }
  rows <- equations$nobs - equations$intercept
  total <- (score$total + followed) / rows
  noise <- .square_covariance(score$F, around, around) + 2 * followed^2 + 4 * abs(total) * followed
  z <- .critical(0.95, family, score$df)
  hidden <- !(total > 0 && total^2 > z^2 * noise / rows^2)
  if (hidden || (score$s2 <= 0 && score$F$noisy)) return(list(NA_real_, NA_real_))
  list(1 - score$df / rows * score$s2 / total, 1 - score$s2 / total)
}

# ---- the output of `discreet fit --json` -----------------------------------------------------------------------------

# A fit that discreet computed, as an object with the same methods.
read_fit <- function(path) {
  read <- .read_json(path)
  if (is.null(read$conf_int) || is.null(read$params)) {
    stop("the file holds no fit; write one with: discreet fit RELEASE --json > fit.json", call. = FALSE)
  }
  names <- names(read$params)
  numbers <- function(field) vapply(read[[field]][names], function(one) if (is.null(one)) NA_real_ else one, 0)
  number <- function(one) if (is.null(one)) NA_real_ else one
  level <- read$interval_level
  kinds <- lapply(read$conf_int[names], function(one) if (is.null(one)) list(kind = NA_character_) else one)
  end <- function(field, none) vapply(kinds, function(one) if (is.null(one[[field]])) none else one[[field]], 0)
  frame <- .set_frame(names, vapply(kinds, `[[`, "", "kind"), end("lower", -Inf), end("upper", Inf))
  structure(list(
    call = match.call(), target = read$target, names = names, estimable = isTRUE(read$estimable),
    coefficients = numbers("params"), std_error = numbers("bse"), t = numbers("tvalues"), p = numbers("pvalues"),
    privacy_share = numbers("privacy_share"), nobs = number(read$nobs), nobs_sd = number(read$nobs_sd),
    df.residual = number(read$df_resid), sigma = sqrt(number(read$s2)), r.squared = number(read$rsquared),
    adj.r.squared = number(read$rsquared_adj), penalty = read$penalty, notes = unlist(read$notes),
    promise = if (isTRUE(read$private)) {
      sprintf("epsilon = %g, delta = %g, neighbours: %s", read$epsilon, read$delta, read$neighbours)
    } else "NOT PRIVATE: this release carries no privacy guarantee.",
    sets = function(asked) {
      if (asked != level) {
        stop("the file has sets at level ", level, "; run discreet fit with --level ", asked, call. = FALSE)
      }
      frame
    }, level = level
  ), class = "discreet_lm")
}

# ---- methods, in the words of lm -------------------------------------------------------------------------------------

coef.discreet_lm <- function(object, ...) object$coefficients
nobs.discreet_lm <- function(object, ...) object$nobs
df.residual.discreet_lm <- function(object, ...) object$df.residual
sigma.discreet_lm <- function(object, ...) object$sigma

vcov.discreet_lm <- function(object, ...) {
  if (is.null(object$covariance)) stop("no covariance is known of this fit", call. = FALSE)
  object$covariance
}

# The level that sets have unless one is given: that of the file for a fit that was read.
.level <- function(object) if (is.null(object$level)) 0.95 else object$level

# Confidence sets. The matrix has the ends of intervals, and infinite ones for every other set; the attribute "sets" has
# all of them as they are: kind, lower and upper, where `outside` is everything but what lies between the two.
confint.discreet_lm <- function(object, parm = object$names, level = .level(object), ...) {
  if (!is.numeric(level) || length(level) != 1 || !(level >= 0.5 && level < 1)) {
    stop("level: expected at least 0.5 and below 1, such as 0.95", call. = FALSE)
  }
  if (is.numeric(parm)) parm <- object$names[parm]
  if (anyNA(parm) || !all(parm %in% object$names)) {
    stop("parm: expected names among ", paste(object$names, collapse = ", "), call. = FALSE)
  }
  sets <- object$sets(level)[parm, , drop = FALSE]
  bounded <- sets$kind %in% c("interval", "above", "below")
  ends <- cbind(ifelse(bounded, sets$lower, -Inf), ifelse(bounded, sets$upper, Inf))
  ends[is.na(sets$kind), ] <- NA
  tails <- c(1 - level, 1 + level) / 2
  dimnames(ends) <- list(parm, paste(format(100 * tails, trim = TRUE, digits = 3), "%"))
  structure(ends, sets = sets, class = c("discreet_sets", "matrix"))
}

.set_words <- function(sets, digits = 6) {
  low <- trimws(formatC(sets$lower, digits = digits, format = "g"))
  high <- trimws(formatC(sets$upper, digits = digits, format = "g"))
  said <- c(
    interval = "%s to %s", outside = "not between %s and %s", above = "at least %s", below = "at most %2$s",
    everything = "any value"
  )[sets$kind]
  words <- mapply(function(how, a, b) suppressWarnings(sprintf(how, a, b)), said, low, high)
  ifelse(is.na(said), "not estimable", words)
}

print.discreet_sets <- function(x, ...) {
  sets <- attr(x, "sets")
  cat("Confidence sets (", paste(colnames(x), collapse = " to "), "):\n", sep = "")
  cat(paste0(format(rownames(sets)), "  ", .set_words(sets), "\n"), sep = "")
  invisible(x)
}

print.discreet_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\nCoefficients:\n", sep = "")
  print.default(format(x$coefficients, digits = digits), print.gap = 2L, quote = FALSE)
  cat("\n", x$promise, "\n", sep = "")
  invisible(x)
}

summary.discreet_lm <- function(object, ...) {
  object$named <- object$sets(.level(object))
  # no standard error or t value stands beside an unbounded set
  weak <- !object$named$kind %in% c("interval", NA)
  object$std_error[weak] <- object$t[weak] <- NA
  object$table <- cbind(
    Estimate = object$coefficients, `Std. Error` = object$std_error, `t value` = object$t, `Pr(>|t|)` = object$p
  )
  object$coefficients <- object$table
  structure(object, class = "summary.discreet_lm")
}

print.summary.discreet_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("\nCall:\n", paste(deparse(x$call), collapse = "\n"), "\n\nCoefficients:\n", sep = "")
  stats::printCoefmat(x$table, digits = digits, na.print = "NA", ...)
  about <- if (isTRUE(x$nobs_sd > 0)) sprintf("about %.0f", x$df.residual) else format(x$df.residual)
  shown <- function(value) if (is.na(value)) "not estimable" else trimws(formatC(value, digits = digits))
  cat("\nResidual standard error:", shown(x$sigma), "on", about, "degrees of freedom\n")
  cat("Multiple R-squared: ", shown(x$r.squared), ",\tAdjusted R-squared: ", shown(x$adj.r.squared), "\n", sep = "")
  cat("Pr(>|t|) is of the score test, whose variance is the one under the hypothesis.\n")
  share <- x$privacy_share[is.finite(x$privacy_share)]
  if (length(share)) {
    said <- paste0(names(share), " ", round(100 * share), "%", collapse = ", ")
    writeLines(strwrap(paste("Share of the squared errors due to privacy:", said), 88))
  }
  weak <- x$named[!x$named$kind %in% c("interval", NA), , drop = FALSE]
  if (nrow(weak)) {
    cat("Confidence sets without two ends, as noise outweighs the signal:\n")
    cat(paste0("  ", format(rownames(weak)), "  ", .set_words(weak), "\n"), sep = "")
    if (is.null(x$notes) && any(x$named$kind %in% "interval")) {
      writeLines(strwrap(paste("Intervals beside unbounded sets are a selection: they cover the true value less often",
                               "than stated, far less often where releases like this one rarely give one."), 88))
    }
  }
  if (!is.null(x$reason)) cat("Not estimable: ", x$reason, ".\n", sep = "")
  cat(x$promise, "\n", sep = "")
  for (note in c(x$estimated, x$plain, x$notes)) writeLines(strwrap(note, 88))
  invisible(x)
}
