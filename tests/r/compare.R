# What R makes of every release in a folder, written beside it for the test to read.
given <- commandArgs(trailingOnly = TRUE)
source(given[1])
number <- function(value) formatC(value, digits = 17, format = "g")

for (path in list.files(given[2], "\\.release\\.json$", full.names = TRUE)) {
  case <- sub("\\.release\\.json$", "", path)
  formula <- readLines(paste0(case, ".formula"))
  model <- discreet_lm(if (nzchar(formula)) stats::as.formula(formula), read_release(path))
  lines <- paste("model", number(model$sigma), number(model$r.squared), number(model$adj.r.squared), number(nobs(model)),
                 number(df.residual(model)), sep = "\t")
  for (level in c(0.95, 0.8)) {
    sets <- attr(confint(model, level = level), "sets")
    lines <- c(lines, paste(
      "coef", level, model$names, number(coef(model)), number(model$std_error), number(model$t), number(model$p),
      sets$kind, number(sets$lower), number(sets$upper), number(model$privacy_share), sep = "\t"
    ))
  }
  if (!is.null(model$covariance)) lines <- c(lines, paste("cov", paste(number(vcov(model)), collapse = "\t"), sep = "\t"))
  writeLines(lines, paste0(case, ".tsv"))
  capture.output(print(summary(model)), print(model), print(confint(model)), file = paste0(case, ".txt"))
}

for (path in list.files(given[2], "\\.fit\\.json$", full.names = TRUE)) {
  model <- read_fit(path)
  capture.output(print(summary(model)), print(confint(model)), file = sub("\\.json$", ".txt", path))
}

# with the noise off: the same table through lm
plain <- read.csv(file.path(given[2], "plain.csv"))
line <- summary(lm(y ~ x + flag, plain))
writeLines(number(c(line$coefficients[, 1:4], line$sigma, line$r.squared, line$adj.r.squared, confint(lm(y ~ x + flag, plain)))),
           file.path(given[2], "plain.lm"))

for (path in list.files(given[2], "\\.refused\\.json$", full.names = TRUE)) {
  said <- tryCatch({
    discreet_lm(data = read_release(path))
    "nothing was refused"
  }, error = conditionMessage)
  writeLines(said, sub("\\.json$", ".txt", path))
}

one <- read_release(file.path(given[2], "mixed.release.json"))
wrong <- list(
  function() discreet_lm(y ~ nothing, one), function() discreet_lm(y ~ log(x), one), function() discreet_lm(~x, one),
  function() discreet_lm(group ~ x, one), function() discreet_lm(y ~ 0, one), function() discreet_lm(y ~ x, 3),
  function() confint(discreet_lm(y ~ x, one), level = 0.05), function() confint(discreet_lm(y ~ x, one), "z"),
  function() read_release(file.path(given[2], "missing.json")), function() read_release(3),
  function() read_fit(file.path(given[2], "mixed.release.json")),
  function() confint(read_fit(file.path(given[2], "bayes.fit.json")), level = 0.9),
  function() vcov(read_fit(file.path(given[2], "bayes.fit.json"))),
  function() .json("[1, 2"), function() .json("{\"a\": 1, \"a\": 2}"), function() .json("[1] x"), function() .json("")
)
said <- vapply(wrong, function(call) tryCatch({
  call()
  "nothing was refused"
}, error = conditionMessage), "")
writeLines(gsub("\n", " ", said), file.path(given[2], "wrong.txt"))

read <- .json("{\"a\": [1, -2.5e3, null, true], \"b\\u00e9\\ud83d\\ude00\": \"x\\\"\\\\\\n\", \"c\": {}}")
stopifnot(identical(read$a, list(1, -2500, NULL, TRUE)), length(read$c) == 0, read[[2]] == "x\"\\\n")
stopifnot(identical(utf8ToInt(enc2utf8(names(read)[2])), c(98L, 233L, 128512L)))
